package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"pinion/raftfsm"
)

const (
	// leaderPatience is how long a request waits for a leader, or for one that answers.
	leaderPatience = 5 * time.Second
	// leaderPause is between two tries: the pool needs a moment to see that its leader is gone.
	leaderPause = 50 * time.Millisecond
)

// nothingDone is wrapped around errors after which the request can be tried again somewhere else.
type nothingDone struct{ error }

func (n nothingDone) Unwrap() error { return n.error }

// errAnswered is what reach returns when the leader has answered the request: there is nothing left to do.
var errAnswered = errors.New("answered by another host")

// reach finds the state to answer from when this host leads the pool; otherwise it has the leader answer. While the
// pool has no leader, or one that has just gone, it tries again for a while: until something was done the client need
// not know.
func (d *door) reach(w http.ResponseWriter, r *http.Request, body []byte) (*raftfsm.View, error) {
	if d.Leader == nil {
		return d.Cluster.View(r.Context())
	}
	ctx, cancel := context.WithTimeout(r.Context(), leaderPatience)
	defer cancel()
	for {
		view, err := d.tryLeader(ctx, w, r, body)
		again, ok := errors.AsType[nothingDone](err)
		if !ok {
			return view, err
		}
		select {
		case <-time.After(leaderPause):
		case <-ctx.Done():
			return nil, again.error
		}
	}
}

func (d *door) tryLeader(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte) (*raftfsm.View, error) {
	hop := r.Header.Get(forwardedHeader) != ""
	address, self, err := d.Leader.Leader(ctx)
	switch {
	case hop && (err != nil || !self):
		return nil, oneHop(w)
	case err != nil:
		return nil, err
	case !self:
		return nil, d.forward(w, r, address, body)
	}
	view, err := d.Cluster.View(ctx)
	switch {
	case err == nil || !errors.Is(err, raftfsm.ErrUnavailable):
		return view, err
	case hop:
		return nil, oneHop(w)
	}
	return nil, nothingDone{err} // it led a moment ago
}

// look is reach for the read-only plain door: with stale=true this host's own state is enough, if it has one.
func (d *door) look(w http.ResponseWriter, r *http.Request, body []byte) (*raftfsm.View, error) {
	if stale(r) && d.Stale != nil {
		if view, err := d.Stale.StaleView(); err == nil {
			w.Header().Set("X-Pinion-Stale", "true")
			return view, nil
		}
	}
	return d.reach(w, r, body)
}

func stale(r *http.Request) bool {
	asked, err := strconv.ParseBool(r.URL.Query().Get("stale"))
	return err == nil && asked
}
