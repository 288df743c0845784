package peer

import "net"

// conn is the TCP connection under a TLS one, known to the port as long as it lives.
type conn struct {
	net.Conn
	port *Port
}

func (c *conn) Close() error {
	c.port.mu.Lock()
	delete(c.port.conns, c)
	c.port.mu.Unlock()
	return c.Conn.Close()
}

// track makes a connection known to Close; nil when the port is closed already.
func (p *Port) track(raw net.Conn) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		raw.Close()
		return nil
	}
	c := &conn{Conn: raw, port: p}
	p.conns[c] = ""
	return c
}

// setHost makes a connection known to CloseHost.
func (p *Port) setHost(c *conn, hostID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, alive := p.conns[c]; alive {
		p.conns[c] = hostID
	}
}

func (p *Port) connsOf(wanted func(hostID string) bool) []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*conn
	for c, hostID := range p.conns {
		if wanted(hostID) {
			found = append(found, c)
		}
	}
	return found
}

// hostConn is a TLS connection between hosts. net/http must not see that it is TLS, or it would look for "h2" in it.
type hostConn struct {
	net.Conn
	hostID string // of the other end; empty when that is joining
}
