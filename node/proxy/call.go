package proxy

import (
	"net/http"
	"sync/atomic"
	"time"

	"pinion/raftfsm/traffic"
)

// call is one request, or one connection of a TCP listener, from its acceptance to its end: what metrics and access log say of it.
type call struct {
	access    *accessLog
	listener  *traffic.Listener
	request   *http.Request // nil of a connection
	client    string        // address and port
	group     *group        // nil when none was chosen
	target    *target       // the last one tried, or nil
	attempts  int
	began     time.Time
	firstByte time.Duration // until the target began to answer; 0 before
	status    int           // of HTTP; clientGone when the client left before

	// These two are written beside finish while a WebSocket is cut off.
	sent   atomic.Int64 // bytes of the answer's body
	broken atomic.Bool  // the target failed before its answer was whole
}

// clientGone is the status of a client that has left, as nginx logs it.
const clientGone = 499

// answered notes that the target has begun to answer.
func (c *call) answered() { c.firstByte = time.Since(c.began) }

// finish counts the call and logs it.
func (c *call) finish() {
	took := time.Since(c.began)
	isError := c.broken.Load() || c.status >= http.StatusInternalServerError
	switch {
	case c.target != nil:
		c.target.record(c.status, isError, took, c.firstByte)
	case c.group != nil:
		c.group.record(c.status, isError, took, c.firstByte)
	}
	c.access.add(c, took)
}
