package mps

import (
	"os"
	"testing"
)

// Looks at a daemon, two each second for as long as its GPU is shared, leave no files open.
func TestALookAtADaemonLeavesNothingOpen(t *testing.T) {
	m := newMachine(t)
	d, err := m.share(t, "serves")
	if err != nil {
		t.Fatal(err)
	}
	open := func() int {
		files, _ := os.ReadDir("/proc/self/fd")
		return len(files)
	}
	before := open()
	for range 100 {
		if err := d.of(uuid).check(t.Context(), d.config.Log); err != nil {
			t.Fatal(err)
		}
	}
	if after := open(); after > before+10 {
		t.Errorf("%d files are open after 100 looks, %d before", after, before)
	}
}
