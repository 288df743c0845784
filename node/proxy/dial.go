package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pinion/raftfsm/traffic"
)

// dialError is a target that cannot be connected to: it has seen nothing of the request.
type dialError struct{ error }

// Unwrap returns the reason.
func (e *dialError) Unwrap() error { return e.error }

// targetDialer connects to targets, whose addresses are what their hosts say.
type targetDialer struct {
	dialer       net.Dialer
	ownsLoopback bool         // the host itself advertises a loopback address, as a pool on one machine does
	virtual      netip.Prefix // of the host's virtual addresses
}

// newTargetDialer makes one for a host that advertises that address, with a port or without, and has its virtual addresses in that range.
func newTargetDialer(advertised string, virtual netip.Prefix) *targetDialer {
	host, _, err := net.SplitHostPort(advertised)
	if err != nil {
		host = advertised
	}
	ip, err := netip.ParseAddr(host)
	d := &targetDialer{ownsLoopback: host == "localhost" || err == nil && ip.IsLoopback(), virtual: virtual}
	d.dialer = net.Dialer{
		Timeout:         dialTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: deadPeer / 2, Interval: time.Second, Count: 5},
		Control:         d.control,
	}
	return d
}

func (d *targetDialer) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := d.dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, &dialError{err}
	}
	if socket, ok := conn.(*net.TCPConn); ok {
		if err := socket.SetLinger(-1); err != nil {
			conn.Close()
			return nil, &dialError{err}
		}
	}
	return conn, nil
}

// control looks at the address that a name has been resolved to. Until the connection is used its end resets it: one that nobody waits for any more
// keeps no port, see http1.
func (d *targetDialer) control(_, address string, raw syscall.RawConn) error {
	if err := d.check(address); err != nil {
		return err
	}
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = errors.Join(unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeer.Milliseconds())),
			unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
	})
	return errors.Join(err, failed)
}

func (d *targetDialer) check(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := to.Addr().Unmap()
	if ip.IsLoopback() && d.ownsLoopback {
		return nil
	}
	if err := traffic.CheckTargetAddress(ip, d.virtual); err != nil {
		return fmt.Errorf("%s is no target: %w", address, err)
	}
	return nil
}
