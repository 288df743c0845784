package consensus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// registerAttribute is the family of task definitions that clients write to: each revision carries the mark of its write.
const registerAttribute = "register"

// client asks servers for one thing after the other.
type client struct {
	*simulation
	name   string
	rand   *rand.Rand
	asked  int
	server int // the last one that answered
}

func (p *simulation) client(n int) *client {
	return &client{simulation: p, name: fmt.Sprint("client-", n), rand: rand.New(rand.NewPCG(p.seed, uint64(n)))}
}

// clientPause is the longest that a client waits between two requests.
const clientPause = 6 * time.Second

// work goes on until the context ends. Whatever is about to break meets requests under way.
func (c *client) work(ctx context.Context) {
	for ctx.Err() == nil {
		if c.rand.IntN(2) == 0 {
			c.write(ctx)
		} else {
			c.read(ctx)
		}
		select {
		case <-c.strike.Wait():
			time.Sleep(c.randomBelow(2 * maxLatency))
		case <-time.After(c.randomBelow(clientPause)):
		case <-ctx.Done():
		}
	}
}

func (c *client) randomBelow(d time.Duration) time.Duration {
	return time.Duration(c.rand.Int64N(int64(d)))
}

// pick prefers the server that answered last.
func (c *client) pick() int {
	if c.rand.IntN(4) > 0 {
		return c.server
	}
	return c.rand.IntN(len(c.servers))
}

// clientTimeout is how long a client waits for one answer.
const clientTimeout = 3 * time.Second

func (c *client) write(ctx context.Context) writeOutcome {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	c.asked++
	server := c.pick()
	a := operation{mark: fmt.Sprint(c.name, "-", c.asked), began: time.Now()}
	definition := spec.TaskDefinition{Family: registerAttribute, Containers: []spec.ContainerDefinition{{Name: a.mark}}}
	answer, err := c.servers[server].Propose(ctx, raftfsm.RegisterDefinition{Definition: definition})
	a.ended = time.Now()
	switch {
	case err == nil:
		a.value = answer.(*spec.TaskDefinition).Revision
	case errors.Is(err, spec.ErrOutcomeUnknown):
		a.told = unknown
	case errors.Is(err, spec.ErrUnavailable):
		a.told = refused
	default:
		c.t.Errorf("%s: %v", a.mark, err)
	}
	c.heard(server, a.told == acknowledged)
	c.note(a)
	return a.told
}

func (c *client) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	server := c.pick()
	a := operation{began: time.Now()}
	view, err := c.reads(c.servers[server], ctx)
	a.ended = time.Now()
	c.heard(server, err == nil)
	if err != nil {
		return
	}
	if latest := view.Definition(registerAttribute); latest != nil {
		a.value = latest.Revision
	}
	c.note(a)
}

// heard remembers who answers, and tries another when nobody did.
func (c *client) heard(server int, answered bool) {
	c.server = server
	if !answered {
		c.server = c.rand.IntN(len(c.servers))
	}
}

func (p *simulation) note(a operation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempts = append(p.attempts, a)
}
