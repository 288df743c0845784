package httpx

import (
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// HostAnswerCache has each host asked once in a while, however many requests are about it. The zero value is ready, and it is safe for concurrent use.
type HostAnswerCache[T any] struct {
	flights singleflight.Group
	mu      sync.Mutex
	hosts   map[string]T // what is still given to others, by the host's id
}

// Get is the answer of a host: the last one, or that of ask, which is given to others for as long as fresh says. Who comes while ask runs waits for it
// too, so it does not end with one request.
func (c *HostAnswerCache[T]) Get(hostID string, ask func() (answer T, fresh time.Duration)) T {
	if last, ok := c.last(hostID); ok {
		return last
	}
	answer, _, _ := c.flights.Do(hostID, func() (any, error) {
		if last, ok := c.last(hostID); ok { // of the flight before
			return last, nil
		}
		answer, fresh := ask()
		c.keep(hostID, answer)
		time.AfterFunc(fresh, func() { c.forget(hostID) })
		return answer, nil
	})
	return answer.(T)
}

func (c *HostAnswerCache[T]) last(hostID string) (T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.hosts[hostID]
	return last, ok
}

func (c *HostAnswerCache[T]) keep(hostID string, answer T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hosts == nil {
		c.hosts = map[string]T{}
	}
	c.hosts[hostID] = answer
}

func (c *HostAnswerCache[T]) forget(hostID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.hosts, hostID)
}
