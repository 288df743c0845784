package rpc

import (
	"context"

	"pinion/raftfsm/spec"
)

// Leadership finds the pool's leader and calls it.
type Leadership struct {
	life    context.Context
	tracker *LeaderTracker
	servers *Client
}

// NewLeadership returns the leadership as the tracker knows it. servers reaches servers of the pool alone; every call ends with life.
func NewLeadership(life context.Context, tracker *LeaderTracker, servers *Client) Leadership {
	return Leadership{life: life, tracker: tracker, servers: servers}
}

// Leader is the address of the pool's leader, and whether that is this host. During an election it waits for the outcome,
// at most 5 s or as long as ctx lasts; then the error wraps spec.ErrUnavailable.
func (l Leadership) Leader(ctx context.Context) (address string, self bool, err error) {
	ctx, cancel := l.whileOpen(ctx)
	defer cancel()
	return l.tracker.Await(ctx)
}

// Changed returns a channel that is closed when another host may lead.
func (l Leadership) Changed() <-chan struct{} { return l.tracker.Changed() }

// CallLeader has the leader do something: see LeaderTracker.Call. It is the one retry policy for calls to the leader.
func (l Leadership) CallLeader(ctx context.Context, try func(ctx context.Context, address string, self bool) (again bool, err error)) error {
	ctx, cancel := l.whileOpen(ctx)
	defer cancel()
	return l.tracker.Call(ctx, try)
}

// CallLeaderAt calls the leader: local when this host leads, the path of the leader otherwise. The call must be safe to repeat.
func (l Leadership) CallLeaderAt(ctx context.Context, path string, in, out any, local func() error) error {
	return l.CallLeader(ctx, func(ctx context.Context, address string, self bool) (again bool, err error) {
		if self {
			err = local()
		} else {
			err = l.servers.Call(ctx, address, path, in, out)
		}
		return Repeatable(err), err
	})
}

// whileOpen is ctx until the membership ends, which ends it with spec.ErrClosed.
func (l Leadership) whileOpen(ctx context.Context) (_ context.Context, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.life, func() { end(spec.ErrClosed) })
	return ctx, func() {
		stop()
		end(nil)
	}
}
