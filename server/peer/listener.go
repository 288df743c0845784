package peer

import (
	"context"
	"net"
	"sync"
)

// protocolListener is the port's listener for one protocol.
type protocolListener struct {
	port     *Port
	protocol string
	conns    chan net.Conn
	closed   chan struct{}
	once     sync.Once
	reason   error // error of Accept after Close
}

// listen opens the listener of a protocol and closes the one before.
func (p *Port) listen(protocol string) *protocolListener {
	d := &protocolListener{port: p, protocol: protocol, conns: make(chan net.Conn), closed: make(chan struct{})}
	p.mu.Lock()
	before := p.listeners[protocol]
	p.listeners[protocol] = d
	p.mu.Unlock()
	if before != nil {
		before.close(net.ErrClosed)
	}
	if p.ctx.Err() != nil {
		d.close(net.ErrClosed)
	}
	return d
}

// listenerFor is the open listener of a protocol, nil when there is none.
func (p *Port) listenerFor(protocol string) *protocolListener {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listeners[protocol]
}

// closeListeners closes every listener; their Accept returns the reason.
func (p *Port) closeListeners(reason error) {
	p.mu.Lock()
	var open []*protocolListener
	for _, d := range p.listeners {
		open = append(open, d)
	}
	p.mu.Unlock()
	for _, d := range open {
		d.close(reason)
	}
}

// Accept waits for the next caller whose handshake is done.
func (d *protocolListener) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: d.Addr(), Err: d.reason}
	}
}

// Close refuses new callers; accepted connections stay open.
func (d *protocolListener) Close() error {
	d.close(net.ErrClosed)
	return nil
}

// Addr is the port's.
func (d *protocolListener) Addr() net.Addr { return d.port.Addr() }

func (d *protocolListener) close(reason error) {
	d.once.Do(func() {
		d.reason = reason
		close(d.closed)
		d.port.mu.Lock()
		defer d.port.mu.Unlock()
		if d.port.listeners[d.protocol] == d {
			delete(d.port.listeners, d.protocol)
		}
	})
}

// deliver hands a connection to Accept, and reports whether it was taken before ctx ended.
func (d *protocolListener) deliver(ctx context.Context, c net.Conn) bool {
	select {
	case d.conns <- c:
		return true
	case <-d.closed:
	case <-ctx.Done():
	}
	return false
}
