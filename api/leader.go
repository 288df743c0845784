package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

const (
	// leaderTimeout is how long a request waits for a leader, or for one that answers.
	leaderTimeout = 5 * time.Second
	// leaderRetryEvery is between two tries: the pool needs a moment to see that its leader is gone.
	leaderRetryEvery = 15 * time.Millisecond
)

// retryableError is wrapped around errors after which the request can be tried again somewhere else.
type retryableError struct{ error }

func (n retryableError) Unwrap() error { return n.error }

// errAnswered is what reach returns when the leader has answered the request: there is nothing left to do.
var errAnswered = errors.New("answered by another host")

// finder finds out who asks and the state to answer them from: reach, confirm, look, near or own.
type finder func(w http.ResponseWriter, r *http.Request, body []byte) (caller, error)

// turner turns to the leader at an address, which is another host: forward or compare.
type turner func(w http.ResponseWriter, r *http.Request, address string, body []byte) (caller, error)

// reach finds the state to answer from when this host leads the pool; otherwise it has the leader answer.
func (d *door) reach(w http.ResponseWriter, r *http.Request, body []byte) (caller, error) {
	return d.seek(w, r, body, d.forward)
}

// seek finds the state to answer from when this host leads the pool; otherwise it turns to the leader. While the pool has
// no leader, or one that has just gone, it tries again for a while: until something was done the client need not know.
func (d *door) seek(w http.ResponseWriter, r *http.Request, body []byte, turn turner) (caller, error) {
	if d.Leader == nil {
		view, err := d.Store.View(r.Context())
		if err != nil {
			return caller{}, errNoLeader(r, err)
		}
		return d.authenticate(r, body, view)
	}
	ctx, cancel := context.WithTimeout(r.Context(), leaderTimeout)
	defer cancel()
	for {
		who, err := d.tryLeader(ctx, w, r, body, turn)
		again, ok := errors.AsType[retryableError](err)
		if !ok {
			return who, err
		}
		select {
		case <-time.After(leaderRetryEvery):
		case <-ctx.Done():
			return caller{}, again.error
		}
	}
}

func (d *door) tryLeader(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte, turn turner) (caller, error) {
	hop := r.Header.Get(forwardedHeader) != ""
	address, self, err := d.Leader.Leader(ctx)
	switch {
	case hop && (err != nil || !self):
		return caller{}, errSecondHop(w)
	case err != nil:
		return caller{}, errNoLeader(r, err)
	case !self:
		return turn(w, r, address, body)
	}
	claim, proved, err := d.glance(r, body)
	if err != nil {
		return caller{}, err
	}
	view, err := d.Store.View(ctx)
	switch {
	case err == nil && proved:
		return claim.as(view)
	case err == nil:
		return d.authenticate(r, body, view)
	case !errors.Is(err, spec.ErrUnavailable):
		return caller{}, err
	case hop:
		return caller{}, errSecondHop(w)
	}
	return caller{}, retryableError{errNoLeader(r, err)} // it led a moment ago
}

// errNoLeader is why there is no leader to answer. The rooms below speak of changes and say that nothing was recorded, which
// is no news to whoever only reads.
func errNoLeader(r *http.Request, err error) error {
	if mayWrite(r) || !errors.Is(err, spec.ErrUnavailable) {
		return err
	}
	return wire.Errorf(wire.Server, "The pool has no leader that this host can reach: more than half of its servers are away, or "+
		"they are choosing one. Try again; it goes on by itself. GET /v1/hosts?stale=true shows what this host still knows.")
}

// glance checks who asks with the leader's own copy of the state, which has every key that was acknowledged: so only
// those who have one make it ask the other servers whether it still leads.
func (d *door) glance(r *http.Request, body []byte) (c claim, proved bool, err error) {
	if d.Local == nil {
		return claim{}, false, nil
	}
	view, err := d.Local.StaleView()
	if err != nil {
		return claim{}, false, nil // it stopped being a server just now, which View will tell
	}
	c, err = d.identify(r, body, view)
	return c, true, err
}

// look is reach for the read-only plain door: with stale=true this host's own state is enough, if it has one.
func (d *door) look(w http.ResponseWriter, r *http.Request, body []byte) (caller, error) {
	if staleRequested(r) && d.Local != nil {
		if view, err := d.Local.StaleView(); err == nil {
			w.Header().Set("X-Pinion-Stale", "true")
			return d.authenticate(r, body, view)
		}
	}
	return d.reach(w, r, body)
}

func staleRequested(r *http.Request) bool {
	asked, err := strconv.ParseBool(r.URL.Query().Get("stale"))
	return err == nil && asked
}
