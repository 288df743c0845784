package containerd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/raftfsm/spec"
)

// On a kernel before 5.12 only one mount at a time can be made read-only.
func TestAMountThatCannotBeReadOnlyThroughoutIsRefused(t *testing.T) {
	tree := t.TempDir()
	t.Cleanup(func() { _ = unmountAll(tree) })
	below := filepath.Join(tree, "below")
	for _, dir := range []string{tree, below} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := restrictMount(tree, true); err == nil || !strings.Contains(err.Error(), "older than 5.12") {
		t.Errorf("with a mount below it: %v", err)
	}
	if err := restrictMount(below, true); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "file"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		t.Errorf("to write answers %v", err)
	}
	if err := restrictMount(tree, false); err != nil {
		t.Errorf("to write, with a mount below it: %v", err)
	}
}

func TestAContainerdThatDoesNotSeeTheMountsGetsNone(t *testing.T) {
	m := volumeStaging{dir: t.TempDir(), daemon: filepath.Join(t.TempDir(), "none.sock")}.start("task.main")
	if _, err := m.attach(nil, false); err == nil || !strings.Contains(err.Error(), "mount namespace") {
		t.Errorf("got %v", err)
	}
}

// limitedHost is a host that cannot raise limits above what it has.
type limitedHost map[int]uint64

func (h limitedHost) unbounded() bool                   { return h == nil }
func (h limitedHost) hard(resource int) (uint64, error) { return h[resource], nil }

func TestALimitThatTheHostCannotGiveIsRefusedWithWhatItLacks(t *testing.T) {
	memlock := func(soft, hard int64) []spec.Ulimit {
		return []spec.Ulimit{{Name: "memlock", SoftLimit: soft, HardLimit: hard}}
	}
	limited := limitedHost{unix.RLIMIT_MEMLOCK: 8 << 20}
	for name, c := range map[string]struct {
		ulimits []spec.Ulimit
		host    limitedHost
		want    string
	}{
		"no ulimits":                       {nil, limited, ""},
		"what it has":                      {memlock(1024, 8<<20), limited, ""},
		"unlimited":                        {memlock(-1, -1), limited, "ulimit memlock: this host cannot give more than 8388608: pinion runs there without the capability SYS_RESOURCE"},
		"more than it has":                 {memlock(1024, 8<<20+1), limited, "SYS_RESOURCE"},
		"unlimited of a host that raises":  {memlock(-1, -1), nil, ""},
		"unlimited of a host without that": {memlock(-1, -1), limitedHost{unix.RLIMIT_MEMLOCK: unlimited}, ""},
	} {
		err := checkRlimits(c.ulimits, c.host)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
