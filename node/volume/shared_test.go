package volume

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/raftfsm/volumeroot"
)

// Links that a task puts into the directory of all local volumes lead no other task out of it, and flood no report.
func TestASharedVolumeIsNoLink(t *testing.T) {
	f := newFixture(t)
	local := filepath.Join(f.dataDir, "volumes")
	f.must(os.MkdirAll(local, 0o700))
	for name, target := range map[string]string{"root": "/", "up": "..", "beside": f.elsewhere, "data": f.dataDir} {
		f.must(os.Symlink(target, filepath.Join(local, name)))
	}
	for i := range volumeroot.MaxShared + 9 {
		f.must(os.Mkdir(filepath.Join(local, fmt.Sprint("many", i)), 0o755))
	}
	f.must(os.Mkdir(filepath.Join(local, "no volume"), 0o755))
	roots := f.roots()
	for _, name := range []string{"root", "up", "beside", "data"} {
		for _, makes := range []bool{true, false} {
			v, err := roots.FindShared(name, makes)
			if err == nil {
				t.Errorf("%s: %+v is mounted", name, v)
			}
		}
	}
	if got := roots.Shared(); len(got) != volumeroot.MaxShared || !strings.HasPrefix(got[0], "many") {
		t.Errorf("%d: %q", len(got), got[:1])
	}
}
