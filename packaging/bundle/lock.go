package bundle

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock waits until no other process unpacks into the same directory. The kernel releases the lock when a process dies.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the directory of the tools: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}
