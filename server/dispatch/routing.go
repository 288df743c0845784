package dispatch

import (
	"context"
	"reflect"
	"sync"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/traffic"
)

// routingSpacing is the least time between two computations of the Routing: what changes in it meanwhile goes out together.
const routingSpacing = 20 * time.Millisecond

// routings is the Routing of this server's state, which is computed once for all of its sessions, when one waits for it. The zero value with of
// is ready.
type routings struct {
	of func(*raftfsm.View) traffic.Routing

	mu      sync.Mutex
	version uint64 // of the state
	latest  *versionedRouting
}

// versionedRouting is a Routing with the digests of its parts. Another value is another pointer, and nobody changes it.
type versionedRouting struct {
	traffic.Routing
	digests knownRouting
}

// current is the Routing of the state as it is now; changed is closed when it may be another.
func (r *routings) current(state *raftfsm.State) (_ *versionedRouting, changed <-chan struct{}) {
	version, changed := state.RoutingVersion()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest != nil && r.version >= version {
		return r.latest, changed
	}
	routing := r.of(state.View())
	if r.version = version; r.latest == nil || !reflect.DeepEqual(r.latest.Routing, routing) {
		r.latest = &versionedRouting{routing, digestsOf(&routing)}
	}
	return r.latest, changed
}

// wait waits until the Routing is another one than seen, nil for any.
func (r *routings) wait(ctx context.Context, state *raftfsm.State, seen *versionedRouting) (*versionedRouting, error) {
	for {
		latest, changed := r.current(state)
		if latest != seen {
			return latest, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		pause(ctx, routingSpacing)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// CurrentRouting is the Routing of this server's state.
func (b *Backend) CurrentRouting() traffic.Routing {
	latest, _ := b.routings.current(b.server.State())
	return latest.Routing
}

// Routing waits until the Routing is another value than seen, which is one that it has returned; nil: any. Nobody may change it.
func (b *Backend) Routing(ctx context.Context, _ string, seen *traffic.Routing) (*traffic.Routing, error) {
	ctx, done, err := b.server.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	known, _ := b.routings.current(b.server.State())
	if seen != &known.Routing {
		return &known.Routing, nil
	}
	latest, err := b.routings.wait(ctx, b.server.State(), known)
	if err != nil {
		return nil, err
	}
	return &latest.Routing, nil
}

// streamRouting tells the host of the Routing: at first in any case, and then after each change.
func (s *dispatchSession) streamRouting(ctx context.Context, known knownRouting) {
	var seen *versionedRouting
	for {
		latest, err := s.backend.routings.wait(ctx, s.backend.server.State(), seen)
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
