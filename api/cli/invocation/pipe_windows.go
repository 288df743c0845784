package invocation

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var peekNamedPipe = syscall.NewLazyDLL("kernel32.dll").NewProc("PeekNamedPipe")

// isReadable reports whether bytes wait in a pipe; it takes none. A pipe whose other end was closed has none.
func isReadable(pipe *os.File) (bool, error) {
	var waiting uint32
	done, _, err := peekNamedPipe.Call(pipe.Fd(), 0, 0, 0, uintptr(unsafe.Pointer(&waiting)), 0)
	if done == 0 && !errors.Is(err, syscall.ERROR_BROKEN_PIPE) {
		return false, err
	}
	return waiting > 0, nil
}
