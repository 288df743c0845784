package dispatch

import (
	"context"
	"reflect"
	"sync"
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm"
	"pinion/raftfsm/traffic"
)

// routingSpacing is the least time between two computations of the Routing: what changes in it meanwhile goes out together.
const routingSpacing = 20 * time.Millisecond

// routings is the Routing of this server's state, which is computed once for all of its sessions, when one waits for it. The hosts of a cluster
// get theirs without the names of others. The zero value with of is ready.
type routings struct {
	of func(*raftfsm.View) traffic.Routing

	mu       sync.Mutex
	version  uint64 // of the state
	latest   *traffic.Routing
	clusters map[string]*versionedRouting // what of the latest is for the hosts of a cluster, as far as one has asked
}

// versionedRouting is a Routing with the digests of its parts. Another value is another pointer, and nobody changes it.
type versionedRouting struct {
	traffic.Routing
	digests knownRouting
}

// all is the Routing of the state as it is now; changed is closed when it may be another.
func (r *routings) all(state *raftfsm.State) (_ *traffic.Routing, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.update(state)
}

// update is all; r.mu is held.
func (r *routings) update(state *raftfsm.State) (_ *traffic.Routing, changed <-chan struct{}) {
	version, changed := state.RoutingVersion()
	if r.latest != nil && r.version >= version {
		return r.latest, changed
	}
	routing := r.of(state.View())
	if r.version = version; r.latest == nil || !reflect.DeepEqual(*r.latest, routing) {
		r.latest, r.clusters = &routing, map[string]*versionedRouting{}
	}
	return r.latest, changed
}

// current is the Routing of a host.
func (r *routings) current(state *raftfsm.State, host string) (_ *versionedRouting, changed <-chan struct{}) {
	cluster := "" // of a host that is not known: it gets no names
	if known := state.View().Host(host); known != nil {
		cluster = known.Cluster
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	latest, changed := r.update(state)
	if r.clusters[cluster] == nil {
		ours := latest.For(cluster)
		r.clusters[cluster] = &versionedRouting{ours, digestsOf(&ours)}
	}
	return r.clusters[cluster], changed
}

// wait waits until the Routing of a host is another one than seen, nil for any.
func (r *routings) wait(ctx context.Context, state *raftfsm.State, host string, seen *versionedRouting) (*versionedRouting, error) {
	for {
		latest, changed := r.current(state, host)
		if latest != seen {
			return latest, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		_ = backoff.Sleep(ctx, routingSpacing)
	}
}

// CurrentRouting is the Routing of this server's state.
func (b *Backend) CurrentRouting() traffic.Routing {
	latest, _ := b.routings.all(b.server.State())
	return *latest
}

// Routing waits until the Routing is another value than seen, which is one that it has returned; nil: any. Nobody may change it.
func (b *Backend) Routing(ctx context.Context, hostID string, seen *traffic.Routing) (*traffic.Routing, error) {
	ctx, done, err := b.server.BeginCall(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	known, _ := b.routings.current(b.server.State(), hostID)
	if seen != &known.Routing {
		return &known.Routing, nil
	}
	latest, err := b.routings.wait(ctx, b.server.State(), hostID, known)
	if err != nil {
		return nil, err
	}
	return &latest.Routing, nil
}

// streamRouting tells the host of the Routing: at first in any case, and then after each change.
func (s *hostSession) streamRouting(ctx context.Context, known knownRouting) {
	var seen *versionedRouting
	for {
		latest, err := s.backend.routings.wait(ctx, s.backend.server.State(), s.hostID, seen)
		if err != nil {
			return
		}
		delta, needed := known.diff(latest)
		if (needed || seen == nil) && s.send(serverMessage{Routing: &delta}) != nil {
			return
		}
		known, seen = latest.digests, latest
	}
}
