//go:build unix

package invocation

import (
	"os"

	"golang.org/x/sys/unix"
)

// isReadable reports whether bytes wait in a pipe; it takes none.
func isReadable(pipe *os.File) (bool, error) {
	readable := []unix.PollFd{{Fd: int32(pipe.Fd()), Events: unix.POLLIN}}
	_, err := unix.Poll(readable, 0)
	return readable[0].Revents&unix.POLLIN != 0, err
}
