package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/watch"
)

const (
	// LeaderTimeout is how long a call waits for a leader that answers it.
	LeaderTimeout = 5 * time.Second
	// minBackoff and maxBackoff bound the pause between two tries while nothing is heard of another leader; it doubles.
	minBackoff = 15 * time.Millisecond
	maxBackoff = 240 * time.Millisecond
)

// ErrLeaderChanged ends a call to a host that led when another host leads.
var ErrLeaderChanged = errors.New("another host leads the pool now")

// errNoLeader is for a call that found no leader in its time.
var errNoLeader = fmt.Errorf("%w: the pool has no leader that this host can reach", spec.ErrNotLeader)

// LeaderTracker is what this host knows of the pool's leader, and the one retry policy for calls to it.
type LeaderTracker struct {
	probe   func() (address string, self bool)
	changed watch.Signal

	mu     sync.Mutex
	leader string          // the last one that was known
	tenure context.Context // ends with ErrLeaderChanged when another host leads than leader
	end    context.CancelCauseFunc
}

// NewLeaderTracker returns a tracker of what probe says: the leader's address, empty while it knows of none, and whether
// this host leads and can answer. Refresh must be called after each change of that; probe may not call the tracker.
func NewLeaderTracker(probe func() (address string, self bool)) *LeaderTracker {
	t := &LeaderTracker{probe: probe}
	t.tenure, t.end = context.WithCancelCause(context.Background())
	return t
}

// Leader is the leader as this host knows it now.
func (t *LeaderTracker) Leader() (address string, self bool) { return t.probe() }

// Changed returns a channel that is closed at the next Refresh.
func (t *LeaderTracker) Changed() <-chan struct{} { return t.changed.Wait() }

// Refresh takes in a change: it wakes the goroutines that wait for a leader, and ends the calls to one that was replaced.
func (t *LeaderTracker) Refresh() {
	t.update()
	t.changed.Notify()
}

// update begins another tenure when another host leads, and returns the one that lasts.
func (t *LeaderTracker) update() (leader string, tenure context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	address, _ := t.probe() // under the lock: the last update sees the last change
	if address != "" && address != t.leader {
		t.end(ErrLeaderChanged)
		t.leader = address
		t.tenure, t.end = context.WithCancelCause(context.Background())
	}
	return t.leader, t.tenure
}

// While returns the context for a call to the host at address. If that host leads, the context ends with
// ErrLeaderChanged when another host leads before release is called: a host that is cut off does not answer, and nobody
// would notice for seconds. It costs no goroutine.
func (t *LeaderTracker) While(ctx context.Context, address string) (_ context.Context, release func()) {
	leader, tenure := t.update()
	if leader != address {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(tenure, func() { cancel(ErrLeaderChanged) })
	return ctx, func() { stop() }
}

// Await waits for a leader, LeaderTimeout at most; then the error wraps spec.ErrUnavailable.
func (t *LeaderTracker) Await(ctx context.Context) (address string, self bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, LeaderTimeout)
	defer cancel()
	for {
		changed := t.Changed()
		if address, self = t.Leader(); address != "" {
			return address, self, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", false, ended(ctx, errNoLeader)
		}
	}
}

// Call has the leader do something. try is called with the leader's address, and whether that is this host; when it
// answers that it may be repeated, and while there is no leader, it is tried again after a pause, or at once when the
// leader has changed: for LeaderTimeout, or as long as ctx lasts. The error is that of the last try.
func (t *LeaderTracker) Call(ctx context.Context, try func(ctx context.Context, address string, self bool) (again bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, LeaderTimeout)
	defer cancel()
	for delays := (backoff.Backoff{Min: minBackoff, Max: maxBackoff}); ; {
		changed := t.Changed()
		again, err := true, errNoLeader
		if address, self := t.Leader(); address != "" {
			again, err = try(ctx, address, self)
		}
		if !again {
			return err
		}
		select {
		case <-changed:
		case <-time.After(delays.Next()):
		case <-ctx.Done():
			return ended(ctx, err)
		}
	}
}

// ended is the error of a call whose context has ended: that the server closes counts more than what failed before.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, spec.ErrClosed) {
		return cause
	}
	return err
}

// Repeatable reports whether a call that is harmless to repeat is worth another try after this error: no leader has
// answered it.
func Repeatable(err error) bool {
	return errors.Is(err, spec.ErrUnavailable) && !errors.Is(err, spec.ErrReadOnly) && !errors.Is(err, spec.ErrStateFull) && !errors.Is(err, spec.ErrClosed)
}
