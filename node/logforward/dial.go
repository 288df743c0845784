package logforward

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm/logdriver"
)

const (
	dialTimeout = 10 * time.Second
	// maxBreakers bounds the destinations that are remembered as out of reach.
	maxBreakers = 1000
)

// breakerDelays are the pauses of a destination that could not be reached: nobody tries it meanwhile.
var breakerDelays = backoff.Backoff{Min: 200 * time.Millisecond, Max: 15 * time.Second}

// dialer connects to destinations, and to none that this host is not to send to: what a name leads to is looked at each time.
type dialer struct {
	allowed []string
	virtual netip.Prefix
	own     func() ([]netip.Addr, error) // the addresses of this host

	mu       sync.Mutex
	breakers map[string]*breaker // by destination
}

// breaker keeps the forwarders of one destination, which may be thousands, from trying it all the time.
type breaker struct {
	mu     sync.Mutex // held while one tries
	until  time.Time
	failed int // in a row
	err    error
}

func newDialer(allowed []string, virtual netip.Prefix) *dialer {
	return &dialer{allowed: allowed, virtual: virtual, own: ownAddresses, breakers: map[string]*breaker{}}
}

// ownAddresses are the addresses that reach this host: its own, and those by which all machines of its networks are meant.
func ownAddresses() (all []netip.Addr, err error) {
	found, err := net.InterfaceAddrs()
	for _, a := range found {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, prefix.Addr().Unmap())
			all = append(all, broadcasts(prefix)...)
		}
	}
	return all, err
}

// broadcasts are the first and the last address of a network of IPv4: the kernel sends what is for them to every machine of it, this one too.
func broadcasts(network netip.Prefix) []netip.Addr {
	const pointToPoint = 31
	if !network.Addr().Is4() || network.Bits() >= pointToPoint {
		return nil
	}
	last := network.Masked().Addr().As4()
	for bit := network.Bits(); bit < 32; bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	return []netip.Addr{network.Masked().Addr(), netip.AddrFrom4(last)}
}

// dialing is dial for one destination.
func (d *dialer) dialing(to logdriver.Destination) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return d.dial(ctx, to) }
}

// dial connects to a destination. While it is out of reach one caller at a time tries, and the others are told the last error.
func (d *dialer) dial(ctx context.Context, to logdriver.Destination) (net.Conn, error) {
	b := d.breaker(to)
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Now().Before(b.until) {
		return nil, b.err
	}
	within, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dialer := net.Dialer{KeepAlive: 15 * time.Second, ControlContext: d.control(to)}
	network := to.Network
	if to.IsSocket() {
		network = "unixgram"
	}
	conn, err := dialer.DialContext(within, network, to.Where)
	if to.IsSocket() && errors.Is(err, syscall.EPROTOTYPE) { // it is a stream, which only the socket tells
		conn, err = dialer.DialContext(within, "unix", to.Where)
	}
	switch {
	case err == nil:
		b.failed, b.until = 0, time.Time{}
	case ctx.Err() == nil:
		b.until, b.err = time.Now().Add(breakerDelays.After(b.failed)), err
		b.failed++
	}
	return conn, err
}

func (d *dialer) breaker(to logdriver.Destination) *breaker {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.breakers[to.String()]
	if known == nil {
		if len(d.breakers) >= maxBreakers {
			clear(d.breakers)
		}
		known = &breaker{}
		d.breakers[to.String()] = known
	}
	return known
}

// control looks at the address that a name has been resolved to, before anything is sent there. What the operator has named is not looked at.
func (d *dialer) control(to logdriver.Destination) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		if to.Names(d.allowed) {
			return nil
		}
		if to.IsSocket() || !slices.Contains(d.allowed, logdriver.Remote) {
			return fmt.Errorf("this host sends no logs to %v: `pinion up --log-destination %v` allows it", to, to)
		}
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		own, err := d.own()
		if err == nil {
			err = logdriver.CheckAddress(at.Addr(), own, d.virtual)
		}
		if err != nil {
			return fmt.Errorf("%v leads to %v, where this host sends no logs, because %w: `pinion up --log-destination %v` allows it", to, at.Addr(), err, to)
		}
		return nil
	}
}

// secure puts TLS over a connection.
func secure(ctx context.Context, conn net.Conn, name string, skipVerify bool) (net.Conn, error) {
	secured := tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: skipVerify, MinVersion: tls.VersionTLS12})
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secured, nil
}
