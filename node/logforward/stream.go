package logforward

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"pinion/packaging/backoff"

	"golang.org/x/sys/unix"
)

const (
	// stallTimeout bounds the time for which a destination may take nothing.
	stallTimeout = 10 * time.Second
	// writeSize is the size of one write, small enough that a slow destination is seen to take something.
	writeSize = 16 << 10
	// The pauses between two looks at what the other side has.
	drainMin, drainMax = 100 * time.Microsecond, 20 * time.Millisecond
)

// errStalled is a destination that takes nothing.
var errStalled = fmt.Errorf("the destination has taken nothing for %v", stallTimeout)

// stream is a connection to a destination.
type stream struct {
	net.Conn
	raw syscall.Conn // the socket below
}

// deliver writes all of it, and waits until the other side has it: over TCP until the kernel there has acknowledged it, of a socket of this
// host until it is read. What is only in the buffers of this host would be lost with the connection.
func (s *stream) deliver(ctx context.Context, text []byte) error {
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Now()) })
	defer stop()
	for len(text) > 0 {
		if err := s.SetWriteDeadline(time.Now().Add(stallTimeout)); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := s.Write(text[:min(len(text), writeSize)])
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				err = errStalled
			}
			return err
		}
		text = text[n:]
	}
	return s.drain(ctx)
}

// drain waits until nothing is left in the buffers of this host.
func (s *stream) drain(ctx context.Context) error {
	before, moved := -1, time.Now()
	for poll := (backoff.Backoff{Min: drainMin, Max: drainMax}); ; {
		left, err := s.unsent()
		switch {
		case err != nil:
			return err
		case left == 0:
			return nil
		case left != before:
			before, moved = left, time.Now()
		case time.Since(moved) > stallTimeout:
			return errStalled
		}
		if err := poll.Wait(ctx); err != nil {
			return err
		}
	}
}

// unsent is the number of bytes that the other side has not got. An error when the connection has ended, which a silent destination shows only here.
func (s *stream) unsent() (left int, err error) {
	conn, err := s.raw.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := conn.Control(func(fd uintptr) {
		if left, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ); err != nil {
			return
		}
		var failed int
		if failed, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR); err == nil && failed != 0 {
			err = syscall.Errno(failed)
		}
		if err != nil {
			return
		}
		var one [1]byte
		n, _, peekErr := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case peekErr == nil && n == 0:
			err = errors.New("the destination has closed the connection")
		case peekErr != nil && !errors.Is(peekErr, unix.EAGAIN) && !errors.Is(peekErr, unix.EINTR):
			err = peekErr
		}
	})
	return left, errors.Join(err, controlErr)
}
