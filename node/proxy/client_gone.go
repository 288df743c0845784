package proxy

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// whileConnected is ctx until a client of TCP closes its connection before it has sent anything. One that has sent something may have closed its half of the
// connection only, and wait for the answer. Nothing is read. The caller calls stop before it reads.
func whileConnected(ctx context.Context, client net.Conn) (connected context.Context, stop func()) {
	connected, cancel := context.WithCancel(ctx)
	raw := rawConnOf(client)
	if raw == nil {
		return connected, cancel
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		gone := false
		err := raw.Read(func(fd uintptr) bool {
			var one [1]byte
			n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			gone = n <= 0 && !errors.Is(err, unix.EAGAIN)
			return n > 0 || gone
		})
		if gone || errors.Is(err, net.ErrClosed) { // closed: it was silent for too long
			cancel()
		}
	}()
	return connected, func() {
		cancel()
		_ = client.SetReadDeadline(time.Unix(1, 0)) // ends the watch
		<-watched
		_ = client.SetReadDeadline(time.Time{})
	}
}

// rawConnOf is the socket of a client, nil of another kind of connection.
func rawConnOf(client net.Conn) syscall.RawConn {
	mine := connectionOf(client)
	if mine == nil {
		return nil
	}
	socket, ok := mine.Conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
