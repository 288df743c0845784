package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/membership"
	"pinion/server/rpc"
)

// Leadership finds the pool's leader and calls it.
type Leadership struct {
	server  *localServer
	tracker *rpc.LeaderTracker
	peers   *rpc.Client
	open    context.Context // ends with the membership
}

// callLeader calls the leader: local when this host leads, the path of the leader otherwise. The call must be safe to repeat.
func (l Leadership) callLeader(ctx context.Context, path string, in, out any, local func(*Server) error) error {
	return l.CallLeader(ctx, func(ctx context.Context, address string, self bool) (again bool, err error) {
		if own := l.server.Load(); self && own != nil {
			err = local(own)
		} else {
			err = l.peers.Call(ctx, address, path, in, out)
		}
		return rpc.Repeatable(err), err
	})
}

// Leader is the address of the pool's leader, and whether that is this host. During an election it waits for the outcome,
// at most 5 s or as long as ctx lasts; then the error wraps spec.ErrUnavailable.
func (l Leadership) Leader(ctx context.Context) (address string, self bool, err error) {
	ctx, cancel := l.whileOpen(ctx)
	defer cancel()
	return l.tracker.Await(ctx)
}

// CallLeader has the leader do something: see rpc.LeaderTracker.Call. It is the one retry policy for calls to the leader.
func (l Leadership) CallLeader(ctx context.Context, try func(ctx context.Context, address string, self bool) (again bool, err error)) error {
	ctx, cancel := l.whileOpen(ctx)
	defer cancel()
	return l.tracker.Call(ctx, try)
}

// SignatureUsed is consensus.Node's: whether the log has a change by a request with this signature, which an earlier leader may have
// carried out.
func (l Leadership) SignatureUsed(signature spec.Signature, signedAt time.Time) bool {
	own := l.server.Load()
	return own != nil && own.node.SignatureUsed(signature, signedAt)
}

// whileOpen is ctx until Close, which ends it with spec.ErrClosed.
func (l Leadership) whileOpen(ctx context.Context) (_ context.Context, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.open, func() { end(spec.ErrClosed) })
	return ctx, func() {
		stop()
		end(nil)
	}
}

// forwarder reaches the API of other hosts (see HandleAPI) at https://host:port/api/... It cancels an unanswered request to
// the leader when the leader changes, because the old leader may be partitioned.
type forwarder struct {
	leader  *rpc.LeaderTracker
	client  *http.Client // reaches servers
	anyHost *http.Client
	cache   *membership.PoolCache
	server  *localServer
}

// RoundTrip sends the request as it is. It may carry the secret of its caller, so none but a server gets it; only servers ask agents,
// for what they have authorized.
func (f *forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, release := f.leader.While(r.Context(), r.URL.Host)
	defer release()
	client := f.client
	if known := f.cache.PoolInfo(); f.server.Load() != nil && r.URL.Host != known.Leader && !slices.Contains(known.Servers, r.URL.Host) {
		client = f.anyHost
	}
	answer, err := client.Transport.RoundTrip(r.WithContext(ctx))
	if err != nil && errors.Is(context.Cause(ctx), rpc.ErrLeaderChanged) {
		err = rpc.ErrLeaderChanged
	}
	return answer, err
}
