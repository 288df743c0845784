package firelens

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// ErrNotListening is a router that does not take lines: it has not come to that yet, or has ended.
var ErrNotListening = errors.New("the log router does not listen")

// socketDir is the directory of the router's socket on this host, in the directory of the router's files.
func socketDir(dir string) string { return filepath.Join(dir, "firelens", "run") }

// Dial connects to the socket of a router, by the directory of the files of the container. The router may put what it likes into the directory of its
// socket: what is no socket right there, such as a link that would lead to a socket of the host, is refused.
func Dial(ctx context.Context, dir string) (net.Conn, error) {
	parent, err := unix.Open(socketDir(dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotListening, err)
	}
	defer unix.Close(parent)
	fd, err := unix.Openat2(parent, socketName, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
	if errors.Is(err, unix.ENOENT) {
		return nil, fmt.Errorf("%w: it has no socket %s", ErrNotListening, socketPath)
	}
	if err != nil {
		return nil, fmt.Errorf("the socket of the log router: %w", err)
	}
	socket := os.NewFile(uintptr(fd), socketName)
	defer socket.Close()
	info, err := socket.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("%s of the log router is no socket", socketPath)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(fd)) // what is open, whatever has its name now
	if errors.Is(err, unix.ECONNREFUSED) {
		err = ErrNotListening
	}
	return conn, err
}
