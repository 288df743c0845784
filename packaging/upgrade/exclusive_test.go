package upgrade

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"pinion/api/upgrade"
)

// What could not be put back later is not replaced.
func TestAProgramThatDoesNotRunIsNotKept(t *testing.T) {
	m := newMachine(t)
	put(t, m.binary, "#!/bin/sh\necho pinion version C\n")
	if err := swapProgram(m.dataDir, &m.attempt, m.staged); err == nil {
		t.Error("another program has been put in its place since it was started, and was kept as the previous one")
	}
	if _, err := os.Stat(m.binary + oldSuffix); err == nil {
		t.Error("it has the name of the previous one")
	}
}

func TestUpgradesOfAHostBeginOneAfterTheOther(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); err == nil {
		t.Error("two begin at a time")
	}
	unlock()
	unlock()
	if unlock, err = lock(dir); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// A second `pinion up` beside a host that is not ready yet ends with an error of its own: it puts nothing back under the host.
func TestASecondStartBesideAHostChangesNothing(t *testing.T) {
	m := newMachine(t)
	if err := swapProgram(m.dataDir, &m.attempt, m.staged); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(m.dataDir, m.binary); err != nil { // that of the host
		t.Fatal(err)
	}
	held, err := os.Create(filepath.Join(m.dataDir, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	host := exec.Command("sleep", "1000")
	host.ExtraFiles = []*os.File{held}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = host.Process.Kill(), host.Wait() })
	fmt.Fprintln(held, host.Process.Pid)
	if back, err := begin(m.dataDir, m.binary); back || err != nil {
		t.Errorf("%t %v", back, err)
	}
	m.end(t, "beside a host", upgrade.Checking, programB)
}
