// Package prefetch has hosts fetch images before a task that needs them is placed there, so that it starts without a pull. What is to be
// fetched follows from the state and the queue; hosts are told by the leader, and fetch what they are told last.
package prefetch

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/raftfsm"
)

const (
	// interval is the time between two looks.
	interval = time.Second
	// callTimeout bounds a call to a host, parallelCalls how many are made at a time.
	callTimeout   = 3 * time.Second
	parallelCalls = 16
)

// Prefetcher is the loop of one leader term. All fields are required.
type Prefetcher struct {
	State *raftfsm.State
	// Reservations are those of the queue now.
	Reservations func() []Reservation
	// Connected reports whether a host can be told anything now.
	Connected func(host string) bool
	// Tell has a host fetch these images, in place of those it was told before. It is called for different hosts at once.
	Tell func(ctx context.Context, hostID string, images []string) error
	Log  *slog.Logger
}

// Loop tells hosts until ctx ends.
func (p *Prefetcher) Loop(ctx context.Context) {
	told := hostImages{}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.notifyHost(ctx, told)
		}
	}
}

// notifyHost tells the hosts for which something has changed, and notes it in told. A host that is not in told is told also that it has nothing to fetch: a leader
// before may have told it something else. That is each host in a term's first look, one that was not reached, and one that was away.
func (p *Prefetcher) notifyHost(ctx context.Context, told hostImages) {
	view := p.State.View()
	now := wanted(view, p.Reservations())
	next := hostImages{}
	for _, host := range view.Hosts("") {
		known, again := told[host.ID]
		switch images := now[host.ID]; {
		case !p.Connected(host.ID):
			delete(told, host.ID)
		case !again || !slices.Equal(known, images):
			next[host.ID] = images
		}
	}
	maps.DeleteFunc(told, func(host string, _ []string) bool { return view.Host(host) == nil })
	var calls errgroup.Group
	var mu sync.Mutex
	calls.SetLimit(parallelCalls)
	for id, images := range next {
		calls.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			if err := p.Tell(ctx, id, images); err != nil {
				p.Log.Debug("a host was not told which images to fetch", "host", id, "error", err)
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			told[id] = images
			return nil
		})
	}
	_ = calls.Wait() // none fails
}
