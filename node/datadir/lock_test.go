package datadir

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// heldLock is a locked lock file that names a process, and the same file opened once more.
func heldLock(t *testing.T, pid int) (held, again *os.File) {
	t.Helper()
	path := filepath.Join(t.TempDir(), lockFile)
	if err := os.WriteFile(path, []byte(strconv.Itoa(pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, to := range []**os.File{&held, &again} {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		*to = f
	}
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return held, again
}

// A process that was killed while it started another one leaves a child with its lock for a moment.
func TestALockOfAProcessThatHasEndedIsWaitedFor(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	held, again := heldLock(t, ended.Process.Pid)
	pauses := 0
	if err := takeLock(again, func(time.Duration) {
		if pauses++; pauses == 3 {
			held.Close()
		}
	}); err != nil || pauses != 3 {
		t.Errorf("%v after %d pauses", err, pauses)
	}

	_, again = heldLock(t, ended.Process.Pid)
	var waited time.Duration
	if err := takeLock(again, func(d time.Duration) { waited += d }); err == nil || waited != lockPatience {
		t.Errorf("a lock that nobody gives back: %v after %s", err, waited)
	}
}

func TestALockOfAProcessThatLivesIsNotWaitedFor(t *testing.T) {
	_, again := heldLock(t, os.Getpid())
	if err := takeLock(again, func(time.Duration) { t.Fatal("it waits") }); err == nil {
		t.Error("two have the lock")
	}
}
