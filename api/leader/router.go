// Package leader finds the state that a request is answered from: the leader's, confirmed by a quorum; this server's own, by
// read index; or a stale one where the request asks for it. A host that does not lead forwards the request to the leader.
package leader

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Leadership tells which host leads the pool.
type Leadership interface {
	// Leader is the address (host:port) of the leader, and whether that is this host. During an election it waits for
	// the outcome, at most 5 s or as long as ctx lasts, then the error is spec.ErrUnavailable.
	Leader(ctx context.Context) (address string, self bool, err error)
	// CallLeader calls try with the leader. When try answers that it may be repeated, and while there is no leader, it tries
	// again, with a pause that grows: for 5 s, or as long as ctx lasts. The error is that of the last try; when that found no
	// leader, spec.ErrUnavailable.
	CallLeader(ctx context.Context, try func(ctx context.Context, address string, self bool) (again bool, err error)) error
}

// LocalState is the copy of the state on this host.
type LocalState interface {
	// StaleView may lag behind what was acknowledged, but needs no leader. spec.ErrUnavailable when this host holds
	// no state.
	StaleView() (*raftfsm.View, error)
}

// Store is the replicated state.
type Store interface {
	// View is linearizable: it holds every change acknowledged before the call.
	View(ctx context.Context) (*raftfsm.View, error)
	// Connected reports whether the host is known, not given up, and has been heard of lately.
	Connected(hostID string) bool
}

// Mode is the state from which a request may be answered.
type Mode int

// The modes.
const (
	Linearizable Mode = iota // the leader's, which a quorum has confirmed
	FollowerRead             // likewise, or this server's own when the leader has confirmed that it is the same
	StaleAllowed             // with ?stale=true this host's own if it has one; otherwise the leader's
	LocalFirst               // this host's own if it has one that knows the caller; otherwise the leader's
	LocalOnly                // this host's own; no other host is asked
)

// Resolution is the outcome of Resolve: who calls, and the state to answer from.
type Resolution struct {
	Principal auth.Principal
	View      *raftfsm.View

	// Unreachable are the hosts that the leader has not heard of lately, when it has confirmed a FollowerRead; nil in every
	// other case.
	Unreachable map[string]bool
}

// Router resolves requests. It is safe for concurrent use.
type Router struct {
	Store     Store
	Leader    Leadership // nil: this host is alone and leads
	Local     LocalState // nil: there is no copy beside Store
	Auth      *auth.Authenticator
	Peers     *httpx.Peers
	ReadIndex *ReadIndexCache
}

// Resolve authenticates a request and finds the state to answer it from, or has the leader answer it: then answered is
// true, and x is complete. writes says that the request may change the state, so that sending it twice is not the same as
// sending it once.
func (r *Router) Resolve(x *httpx.Exchange, mode Mode, writes bool) (res Resolution, answered bool, err error) {
	switch mode {
	case FollowerRead:
		return r.followerRead(x)
	case LocalOnly:
		res, err = r.localOnly(x)
		return res, false, err
	case LocalFirst:
		if res, err = r.local(x); err == nil {
			return res, false, nil
		}
	case StaleAllowed:
		if StaleRequested(x.Request) && r.Local != nil {
			if view, err := r.Local.StaleView(); err == nil {
				x.Header().Set("X-Pinion-Stale", "true")
				res, err = r.authenticate(x, view)
				return res, false, err
			}
		}
	}
	res, answered, err = r.onLeader(x, writes, func(address string) outcome { return r.forward(x, address, writes) })
	if text := x.Request.URL.Query().Get("stale"); err == nil && !answered && mode == StaleAllowed && text != "" { // it is known who asks
		if _, wrong := strconv.ParseBool(text); wrong != nil {
			return res, false, wire.Errorf(wire.InvalidParameter, "stale must be true or false, not %q.", text)
		}
	}
	return res, answered, err
}

// CheckStale refuses a value of stale that is neither true nor false.
func CheckStale(r *http.Request) error {
	asked := r.URL.Query().Get("stale")
	if _, err := strconv.ParseBool(asked); asked != "" && err != nil {
		return wire.Errorf(wire.InvalidParameter, "stale must be true or false, not %q.", asked)
	}
	return nil
}

// StaleRequested reports whether a request asks for ?stale=true.
func StaleRequested(r *http.Request) bool {
	asked, err := strconv.ParseBool(r.URL.Query().Get("stale"))
	return err == nil && asked
}

func (r *Router) authenticate(x *httpx.Exchange, view *raftfsm.View) (Resolution, error) {
	principal, err := r.Auth.Authenticate(x.Request, x.Body, view)
	if err != nil {
		return Resolution{}, err
	}
	return Resolution{Principal: principal, View: view}, nil
}

// LocalView is this host's own copy of the state, which may lag behind; the leader's where it is alone.
func LocalView(ctx context.Context, r *Router) (*raftfsm.View, error) {
	if r.Local == nil {
		return r.Store.View(ctx)
	}
	return r.Local.StaleView()
}

// LocalPrincipal authenticates a request about this very host, which no other one can answer: with this host's own copy of the state. An
// agent has none, and knows only its root.
func (r *Router) LocalPrincipal(x *httpx.Exchange) (auth.Principal, error) {
	var view *raftfsm.View
	if x.Request.Header.Get("Authorization") != "" || x.Origin.Socket { // root of this host needs no look at the state
		var err error
		if view, err = LocalView(x.Context(), r); err != nil {
			return auth.Principal{}, err
		}
	}
	return r.Auth.Authenticate(x.Request, x.Body, view)
}

// local authenticates a request with this host's own copy of the state, which may lag behind. spec.ErrUnavailable when
// it has none.
func (r *Router) local(x *httpx.Exchange) (Resolution, error) {
	if r.Local == nil {
		return Resolution{}, spec.ErrUnavailable
	}
	view, err := r.Local.StaleView()
	if err != nil {
		return Resolution{}, err
	}
	return r.authenticate(x, view)
}

// localOnly is local for a request about this host's own state.
func (r *Router) localOnly(x *httpx.Exchange) (Resolution, error) {
	if r.Local == nil {
		view, err := r.Store.View(x.Context())
		if err != nil {
			return Resolution{}, err
		}
		return r.authenticate(x, view)
	}
	res, err := r.local(x)
	if errors.Is(err, spec.ErrUnavailable) {
		err = wire.Errorf(httpx.NotFound, "This host holds no state of the pool: it is an agent. Ask a server; `pinion hosts` lists them.")
	}
	return res, err
}
