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

	"pinion/packaging/backoff"
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
	// Send has a host fetch these images, in place of those it was told before. It is called for different hosts at once.
	Send func(ctx context.Context, hostID string, images []string) error
	Log  *slog.Logger
}

// retry has the pauses between calls to a host that fail.
var retry = backoff.Backoff{Min: interval, Max: time.Minute}

// notice is what a host was told in this term; the zero notice is that of a host with nothing to fetch. What an earlier leader has told it, it
// fetches to the end.
type notice struct {
	images []string
	stale  bool     // it was away since, or a call has failed: nobody knows what it fetches
	tried  []string // by the last call, which failed
	failed int      // calls with these images since the last one that it has answered
	next   time.Time
}

func (n notice) isDue(images []string, now time.Time) bool {
	return (n.stale || !slices.Equal(n.images, images)) && (!now.Before(n.next) || !slices.Equal(n.tried, images))
}

// afterFailure is the notice of a host that was called with these images and has not answered.
func (n notice) afterFailure(images []string, now time.Time) notice {
	if !slices.Equal(n.tried, images) {
		n.failed = 0
	}
	return notice{images: n.images, stale: true, tried: images, failed: n.failed + 1, next: now.Add(retry.After(n.failed))}
}

// Loop tells hosts until ctx ends.
func (p *Prefetcher) Loop(ctx context.Context) {
	told := map[string]notice{}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			p.notifyHosts(ctx, now, told)
		}
	}
}

// notifyHosts tells the hosts for which something has changed, and notes it in told.
func (p *Prefetcher) notifyHosts(ctx context.Context, now time.Time, told map[string]notice) {
	view := p.State.View()
	images, due := wanted(view, p.Reservations()), []string{}
	for _, host := range view.Hosts("") {
		known := told[host.ID]
		switch {
		case !p.Connected(host.ID):
			if known.stale || len(known.images) > 0 {
				told[host.ID] = notice{images: known.images, stale: true}
			}
		case known.isDue(images[host.ID], now):
			due = append(due, host.ID)
		}
	}
	maps.DeleteFunc(told, func(host string, _ notice) bool { return view.Host(host) == nil })
	var calls errgroup.Group
	var mu sync.Mutex
	calls.SetLimit(parallelCalls)
	for _, id := range due {
		calls.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			err := p.Send(ctx, id, images[id])
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				told[id] = notice{images: images[id]}
				return nil
			}
			told[id] = told[id].afterFailure(images[id], now)
			p.Log.Debug("a host was not told which images to fetch", "hostId", id, "error", err)
			return nil
		})
	}
	_ = calls.Wait() // none fails
}
