package leader

import (
	"context"
	"errors"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// outcome is what came of one try to resolve a request on the leader.
type outcome struct {
	res   Resolution
	reply func() // copies the leader's response to the client; nil when the request is resolved
	err   error  // why there is neither
	again bool   // with err: nothing was done, so the request can be tried again, also at another host
}

// onLeader resolves a request on this host when it leads the pool, and with ask, which is given the leader's address,
// otherwise. While the pool has no leader, or one that has just gone, Leadership tries again: the client need not know as long
// as nothing was done.
func (r *Router) onLeader(x *httpx.Exchange, writes bool, ask func(address string) outcome) (Resolution, bool, error) {
	return r.atLeader(x, writes, func(ctx context.Context) outcome { return r.asLeader(ctx, x, writes) }, ask)
}

// atLeader calls self on the host that leads the pool, and ask on any other.
func (r *Router) atLeader(x *httpx.Exchange, writes bool, self func(ctx context.Context) outcome, ask func(address string) outcome) (Resolution, bool, error) {
	if r.Leader == nil {
		own := self(x.Context())
		return own.res, false, own.err
	}
	var last outcome
	err := r.Leader.CallLeader(x.Context(), func(ctx context.Context, address string, leads bool) (again bool, err error) {
		switch {
		case leads:
			last = self(ctx)
		case forwarded(x):
			last = outcome{err: errSecondHop(x)}
		default:
			last = ask(address)
		}
		return last.again, last.err
	})
	switch {
	case err == nil && last.reply != nil:
		last.reply()
		return Resolution{}, true, nil
	case err == nil:
		return last.res, false, nil
	case last.err != nil && !last.again:
		return Resolution{}, false, last.err
	case forwarded(x):
		return Resolution{}, false, errSecondHop(x)
	}
	return Resolution{}, false, errNoLeader(writes, err)
}

// Anonymous finds the state for a request that needs no access key, on the leader: its own copy, as nobody whom it does not know makes it ask a
// quorum. What the request changes is decided when that is applied. answered is as in Resolve.
func (r *Router) Anonymous(x *httpx.Exchange, writes bool) (res Resolution, answered bool, err error) {
	return r.atLeader(x, writes, func(ctx context.Context) outcome {
		view, err := LocalView(ctx, r)
		return outcome{res: Resolution{View: view}, err: err, again: errors.Is(err, spec.ErrUnavailable)}
	}, func(address string) outcome { return r.forward(x, address, writes) })
}

// asLeader resolves a request on this host, which leads the pool as far as it knows.
func (r *Router) asLeader(ctx context.Context, x *httpx.Exchange, writes bool) outcome {
	credential, proved, err := r.preauthenticate(x)
	if err != nil {
		return outcome{err: err}
	}
	view, err := r.Store.View(ctx)
	switch {
	case err == nil && proved:
		principal, err := credential.Principal(view)
		return outcome{res: Resolution{Principal: principal, View: view}, err: err}
	case err == nil:
		res, err := r.authenticate(x, view)
		return outcome{res: res, err: err}
	case !errors.Is(err, spec.ErrUnavailable):
		return outcome{err: err}
	case forwarded(x):
		return outcome{err: errSecondHop(x)}
	}
	return outcome{err: errNoLeader(writes, err), again: true} // it led a moment ago
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

// forwarded reports whether another host has forwarded the request. That host tries again when it knows the leader.
func forwarded(x *httpx.Exchange) bool { return x.Origin.Forwarded }

// errSecondHop refuses a forwarded request on a host that does not lead.
func errSecondHop(x *httpx.Exchange) error {
	x.Header().Set(httpx.HeaderNotLeader, "true")
	return wire.Errorf(wire.Server, "Nothing was done: the request was forwarded to this host, which does not lead the pool now. Try again.")
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
