package peer

import (
	"context"
	"net"
	"sync"
)

// door is the listener for one of the things spoken on the port.
type door struct {
	port   *Port
	speaks string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	reason error // what Accept answers once it is closed
}

// open makes the door, in place of the one that was there before.
func (p *Port) open(speaks string) *door {
	d := &door{port: p, speaks: speaks, conns: make(chan net.Conn), closed: make(chan struct{})}
	p.mu.Lock()
	before := p.doors[speaks]
	p.doors[speaks] = d
	p.mu.Unlock()
	if before != nil {
		before.close(net.ErrClosed)
	}
	if p.ctx.Err() != nil {
		d.close(net.ErrClosed)
	}
	return d
}

// at is the open door, nil when there is none.
func (p *Port) at(speaks string) *door {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.doors[speaks]
}

// shut closes every door for this reason.
func (p *Port) shut(reason error) {
	p.mu.Lock()
	var open []*door
	for _, d := range p.doors {
		open = append(open, d)
	}
	p.mu.Unlock()
	for _, d := range open {
		d.close(reason)
	}
}

// Accept waits for the next caller whose handshake is done.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: d.Addr(), Err: d.reason}
	}
}

// Close turns callers away from now on; connections that were accepted go on.
func (d *door) Close() error {
	d.close(net.ErrClosed)
	return nil
}

// Addr is the port's.
func (d *door) Addr() net.Addr { return d.port.Addr() }

func (d *door) close(reason error) {
	d.once.Do(func() {
		d.reason = reason
		close(d.closed)
		d.port.mu.Lock()
		defer d.port.mu.Unlock()
		if d.port.doors[d.speaks] == d {
			delete(d.port.doors, d.speaks)
		}
	})
}

// hand passes a connection on to who accepts here, and reports whether somebody took it before ctx ended.
func (d *door) hand(ctx context.Context, c net.Conn) bool {
	select {
	case d.conns <- c:
		return true
	case <-d.closed:
	case <-ctx.Done():
	}
	return false
}
