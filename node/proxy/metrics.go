package proxy

import (
	"cmp"
	"sync/atomic"
	"time"

	"pinion/raftfsm/traffic"
)

// Bounds are the upper bounds of the buckets of each Histogram, but of the last one, which has none.
var Bounds = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second,
	10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute,
}

// Histogram is the distribution of durations since the proxy began.
type Histogram struct {
	Counts [len(Bounds) + 1]uint64 // in each bucket
	Sum    time.Duration
}

// Classes is the number of status classes of answers, by the first digit. Class 0 is for exchanges without an HTTP status, such as TCP connections.
const Classes = 6

// Metrics are the metrics of a group or of one of its targets. All but InFlight and Waiting only grow. A request that a target has answered, or
// broken off, counts for the last target tried; a request that no target got counts for the group.
type Metrics struct {
	Group, Target string        // IDs; Target is empty in those of the group
	Name          string        // of the group, as people know it
	Owner         traffic.Owner // zero: none is known
	ByClass       [Classes]uint64
	Requests      uint64  // that have ended, or connections of TCP: the sum of ByClass
	Errors        uint64  // of them answered 5xx, or broken off by the target
	InFlight      int     // in those of the group, of all of its targets
	Busy          float64 // seconds for which requests were in flight, added up over the requests; of a target only
	Waiting       int     // for a healthy target; of a group only
	Latency       Histogram
	FirstByte     Histogram // until the target began to answer
}

// Metrics returns the metrics of each group and of each of its targets.
func (p *Proxy) Metrics() []Metrics {
	p.mu.Lock()
	groups := make([]*group, 0, len(p.groups))
	for _, g := range p.groups {
		groups = append(groups, g)
	}
	p.mu.Unlock()
	var all []Metrics
	for _, g := range groups {
		all = append(all, g.metrics()...)
	}
	return all
}

// Waiting counts the requests that wait for a healthy target, by the ids of the groups where some do.
func (p *Proxy) Waiting() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := map[string]int{}
	for id, g := range p.groups {
		g.mu.Lock()
		if g.waiting > 0 {
			waiting[id] = g.waiting
		}
		g.mu.Unlock()
	}
	return waiting
}

// Dropped counts the lines that the access log could not take.
func (p *Proxy) Dropped() uint64 { return p.access.dropped.Load() }

func (g *group) metrics() []Metrics {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.counters.read()
	own.Group, own.Name, own.Owner, own.InFlight, own.Waiting = g.id, cmp.Or(g.config.Name, g.id), g.config.Owner, g.inFlight, g.waiting
	all := []Metrics{own}
	for _, t := range g.targets {
		m := t.counters.read()
		t.count(0)
		m.Group, m.Name, m.Target, m.Owner, m.InFlight, m.Busy = g.id, own.Name, t.id, t.owner, t.inFlight, t.busy
		all = append(all, m)
	}
	return all
}

// count adds to the requests in flight. The group's mu is held.
func (t *target) count(more int) {
	now := time.Now()
	t.busy += float64(t.inFlight) * now.Sub(t.counted).Seconds()
	t.counted = now
	t.inFlight += more
}

// counters are Metrics as they are counted.
type counters struct {
	byClass            [Classes]atomic.Uint64
	errors             atomic.Uint64
	latency, firstByte histogram
}

type histogram struct {
	counts [len(Bounds) + 1]atomic.Uint64
	sum    atomic.Int64
}

func (c *counters) record(status int, isError bool, took, firstByte time.Duration) {
	class := status / 100
	if class < 0 || class >= Classes {
		class = 0
	}
	c.byClass[class].Add(1)
	if isError {
		c.errors.Add(1)
	}
	c.latency.observe(took)
	if firstByte > 0 {
		c.firstByte.observe(firstByte)
	}
}

func (c *counters) read() Metrics {
	m := Metrics{Errors: c.errors.Load(), Latency: c.latency.read(), FirstByte: c.firstByte.read()}
	for class := range c.byClass {
		m.ByClass[class] = c.byClass[class].Load()
		m.Requests += m.ByClass[class]
	}
	return m
}

func (h *histogram) observe(d time.Duration) {
	i := 0
	for i < len(Bounds) && d > Bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

func (h *histogram) read() (all Histogram) {
	for i := range h.counts {
		all.Counts[i] = h.counts[i].Load()
	}
	all.Sum = time.Duration(h.sum.Load())
	return all
}
