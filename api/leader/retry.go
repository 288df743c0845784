package leader

import (
	"context"
	"errors"
	"time"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

const (
	// leaderTimeout is how long a request waits for a leader, or for one that answers.
	leaderTimeout = 5 * time.Second
	// retryInterval is between two tries: the pool needs a moment to see that its leader is gone.
	retryInterval = 15 * time.Millisecond
)

// retryableError is an error after which nothing was done: the request can be tried again, also at another host.
type retryableError struct{ error }

func (e retryableError) Unwrap() error { return e.error }

// remote asks the leader at an address, which is another host. answered says that it has answered the client.
type remote func(ctx context.Context, address string) (res Resolution, answered bool, err error)

// onLeader resolves a request on this host when it leads the pool, and with ask otherwise. While the pool has no leader, or
// one that has just gone, it tries again for leaderTimeout: the client need not know as long as nothing was done.
func (r *Router) onLeader(x *httpx.Exchange, writes bool, ask remote) (Resolution, bool, error) {
	if r.Leader == nil {
		view, err := r.Store.View(x.Context())
		if err != nil {
			return Resolution{}, false, errNoLeader(writes, err)
		}
		res, err := r.authenticate(x, view)
		return res, false, err
	}
	ctx, cancel := context.WithTimeout(x.Context(), leaderTimeout)
	defer cancel()
	for {
		res, answered, err := r.tryLeader(ctx, x, writes, ask)
		retryable, ok := errors.AsType[retryableError](err)
		if !ok {
			return res, answered, err
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return Resolution{}, false, retryable.error
		}
	}
}

func (r *Router) tryLeader(ctx context.Context, x *httpx.Exchange, writes bool, ask remote) (Resolution, bool, error) {
	forwarded := x.Request.Header.Get(httpx.HeaderForwarded) != ""
	address, self, err := r.Leader.Leader(ctx)
	switch {
	case forwarded && (err != nil || !self):
		return Resolution{}, false, errSecondHop(x)
	case err != nil:
		return Resolution{}, false, errNoLeader(writes, err)
	case !self:
		return ask(ctx, address)
	}
	credential, proved, err := r.preauthenticate(x)
	if err != nil {
		return Resolution{}, false, err
	}
	view, err := r.Store.View(ctx)
	switch {
	case err == nil && proved:
		principal, err := credential.Principal(view)
		return Resolution{Principal: principal, View: view}, false, err
	case err == nil:
		res, err := r.authenticate(x, view)
		return res, false, err
	case !errors.Is(err, spec.ErrUnavailable):
		return Resolution{}, false, err
	case forwarded:
		return Resolution{}, false, errSecondHop(x)
	}
	return Resolution{}, false, retryableError{errNoLeader(writes, err)} // it led a moment ago
}

// preauthenticate checks the credentials with the leader's own copy of the state, which holds every key that was
// acknowledged. So only the owner of a key makes the leader ask a quorum whether it still leads.
func (r *Router) preauthenticate(x *httpx.Exchange) (c auth.Credential, proved bool, err error) {
	if r.Local == nil {
		return auth.Credential{}, false, nil
	}
	view, err := r.Local.StaleView()
	if err != nil {
		return auth.Credential{}, false, nil // it stopped being a server just now; View will tell
	}
	c, err = r.Auth.Identify(x.Request, x.Body, view)
	return c, true, err
}

// errNoLeader explains to a reader why there is no leader to answer. The packages below speak of writes and say that
// nothing was recorded, which is no news to a reader.
func errNoLeader(writes bool, err error) error {
	if writes || !errors.Is(err, spec.ErrUnavailable) {
		return err
	}
	return wire.Errorf(wire.Server, "The pool has no leader that this host can reach: more than half of its servers are away, or "+
		"they are choosing one. Try again; it goes on by itself. GET /v1/hosts?stale=true shows what this host still knows.")
}

// errSecondHop refuses a request that another host has forwarded already: that host tries again when it knows the leader.
func errSecondHop(x *httpx.Exchange) error {
	x.Header().Set(httpx.HeaderNotLeader, "true")
	return wire.Errorf(wire.Server, "Nothing was done: the request was forwarded to this host, which does not lead the pool now. Try again.")
}
