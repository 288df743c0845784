package consensus

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockTimeout is how long an earlier process may take to let go of the directory.
const lockTimeout = time.Second

// lockDir takes the directory for this process until the file is closed. ErrInUse when another one has it.
func lockDir(dir string) (*os.File, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open the raft directory: %w", err)
	}
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(20 * time.Millisecond) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return file, nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		case time.Now().After(deadline):
			file.Close()
			return nil, fmt.Errorf("%w: %s; stop it first (pgrep -a pinion), or give this one a --data-dir of its own", ErrInUse, dir)
		}
	}
}
