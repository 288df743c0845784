package peer

import (
	"crypto/x509"
	"fmt"
	"net"
	"slices"

	"pinion/packaging/clientnet"
)

// conn is the TCP connection under a TLS one, known to the port as long as it lives.
type conn struct {
	net.Conn
	port     *Port
	reserved bool   // beyond the bounds of clients: only a host of the pool is heard; the port's mutex guards it
	protocol string // that its caller speaks, once it has said so; of the goroutine of the handshake
	claimed  string // id in the certificate that its caller showed, verified or not; likewise
}

func (c *conn) Close() error {
	c.port.mu.Lock()
	if hostID, alive := c.port.conns[c]; alive {
		delete(c.port.conns, c)
		c.port.forget(c, hostID)
	}
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
	if from := clientnet.Prefix(raw.RemoteAddr().String()); !p.clients.add(from) {
		p.clients.warn(p.log, from)
		p.reserve(c)
	}
	return c
}

// reserve keeps a connection beyond the bounds of clients for a while. It is called with the mutex held.
func (p *Port) reserve(c *conn) {
	c.reserved = true
	p.reserved = append(p.reserved, c)
	if len(p.reserved) > maxReserved {
		oldest := p.reserved[0]
		delete(p.conns, oldest)
		p.forget(oldest, "")
		oldest.Conn.Close()
	}
}

// checkReserved refuses a client beyond the bounds, who says no protocol of hosts.
func (p *Port) checkReserved(c *conn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.reserved && c.protocol != Peer && c.protocol != Raft {
		return errTooMany
	}
	return nil
}

// setHost makes a connection known to CloseHost. It counts as the host's and not as a client's any more; the error is that the host
// has too many.
func (p *Port) setHost(c *conn, hostID string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, alive := p.conns[c]
	if !alive || before == hostID {
		return nil
	}
	if p.hosts[hostID] >= maxPerHost {
		return fmt.Errorf("host %s has %d connections already", hostID, maxPerHost)
	}
	p.forget(c, before)
	p.hosts[hostID]++
	p.conns[c] = hostID
	return nil
}

// forget has a connection not count any more. It is called with the mutex held.
func (p *Port) forget(c *conn, hostID string) {
	if c.reserved {
		c.reserved = false
		p.reserved = slices.DeleteFunc(p.reserved, func(r *conn) bool { return r == c })
	} else if hostID == "" {
		p.clients.remove(clientnet.Prefix(c.RemoteAddr().String()))
	} else if p.hosts[hostID]--; p.hosts[hostID] == 0 {
		delete(p.hosts, hostID)
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
	hostID string            // of the other end; empty when that is joining
	cert   *x509.Certificate // of the other end; nil when that is joining
}
