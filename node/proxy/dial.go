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
)

// errOwnNetwork is why a target is not connected to whose address means another machine on each host: the proxy would turn clients to what only
// programs of its own host may reach, such as a metadata service.
var errOwnNetwork = errors.New("it is an address of the proxy's own host or link: a host must advertise an address that the others reach")

// dialError is a target that cannot be connected to: it has seen nothing of the request.
type dialError struct{ error }

// Unwrap returns the reason.
func (e *dialError) Unwrap() error { return e.error }

// targetDialer connects to targets, whose addresses are what their hosts say.
type targetDialer struct {
	dialer       net.Dialer
	ownsLoopback bool // the host itself advertises a loopback address, as a pool on one machine does
}

// newTargetDialer makes one for a host that advertises that address, with a port or without.
func newTargetDialer(advertised string) *targetDialer {
	host, _, err := net.SplitHostPort(advertised)
	if err != nil {
		host = advertised
	}
	ip, err := netip.ParseAddr(host)
	d := &targetDialer{ownsLoopback: host == "localhost" || err == nil && ip.IsLoopback()}
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
	return conn, nil
}

// control looks at the address that a name has been resolved to.
func (d *targetDialer) control(_, address string, raw syscall.RawConn) error {
	if err := d.check(address); err != nil {
		return err
	}
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeer.Milliseconds()))
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
	if ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return fmt.Errorf("%s: %w", address, errOwnNetwork)
	}
	return nil
}
