package http1

import (
	"slices"
	"sync"
	"time"
)

// Bounds of kept connections. Servers close idle ones after 2 s (gunicorn) or 5 s (uvicorn, Node.js), and a POST that meets such an end cannot be
// repeated.
const (
	maxIdleOfServer = 1024
	maxIdle         = 8192
	idleTime        = time.Second
)

// pool keeps connections between requests. The zero value is empty.
type pool struct {
	mu       sync.Mutex
	kept     map[string][]*conn // by address; the last one was kept last
	count    int
	sweeping bool
}

// take is the connection to an address that was kept last and is still open, or nil.
func (p *pool) take(address string, now time.Time) *conn {
	for {
		c := p.pop(address)
		if c == nil {
			return nil
		}
		if now.Sub(c.since) < idleTime && c.isSilent() {
			return c
		}
		c.Close()
	}
}

func (p *pool) pop(address string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.kept[address]
	if len(all) == 0 {
		return nil
	}
	last := len(all) - 1
	c := all[last]
	all[last] = nil
	p.kept[address] = all[:last]
	p.count--
	return c
}

// put keeps a connection, or closes it beyond the bounds.
func (p *pool) put(c *conn) {
	c.kept, c.since = true, time.Now()
	if !p.add(c) {
		c.Close()
	}
}

func (p *pool) add(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.kept[c.address]
	if p.count >= maxIdle || len(all) >= maxIdleOfServer {
		return false
	}
	if p.kept == nil {
		p.kept = map[string][]*conn{}
	}
	p.kept[c.address] = append(all, c)
	p.count++
	if !p.sweeping {
		p.sweeping = true
		time.AfterFunc(idleTime, p.sweep)
	}
	return true
}

// sweep closes the connections that were kept for idleTime, and comes back while any is left.
func (p *pool) sweep() {
	before := time.Now().Add(-idleTime)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(func(c *conn) bool { return !c.since.After(before) })
	if p.sweeping = len(p.kept) > 0; p.sweeping {
		time.AfterFunc(idleTime/2, p.sweep)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(func(*conn) bool { return true })
}

// drop closes the connections that are old, which come first, and forgets addresses without any. p.mu is held.
func (p *pool) drop(isOld func(*conn) bool) {
	for address, all := range p.kept {
		n := 0
		for n < len(all) && isOld(all[n]) {
			all[n].Close()
			n++
		}
		p.count -= n
		if p.kept[address] = slices.Delete(all, 0, n); len(all) == n {
			delete(p.kept, address)
		}
	}
}
