package server

import (
	"slices"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// opening is the reservation of a cluster: where and when its head can start.
type opening struct {
	schedule.Opening
	item  *queue.Item
	ok    bool
	found time.Time
}

// openingAge is how long a reservation is kept when a better one may have become possible: looking costs a look at every
// host.
const openingAge = time.Second

// Reserve is queue.Places. A reservation stays as long as it holds.
func (r *round) Reserve(item *queue.Item) (at time.Time, ok bool) {
	now := r.cfg.Now()
	known := r.kept[item.Cluster]
	if known == nil || known.item != item || now.Sub(known.found).Abs() > openingAge || !known.At.IsZero() && now.After(known.At) {
		known = r.find(item, now)
	}
	return known.At, known.ok && r.keep(item.Cluster)
}

// doubt forgets a reservation of which nobody knows when, once one of its hosts has more to give: it may be known now.
func (w *waiting) doubt(cluster string, gained map[string]bool) {
	known := w.kept[cluster]
	if known != nil && known.At.IsZero() && slices.ContainsFunc(known.Hosts, func(s schedule.Share) bool { return gained[s.HostID] }) {
		delete(w.kept, cluster)
	}
}

// find makes a new reservation.
func (r *round) find(item *queue.Item, now time.Time) *opening {
	r.letGo(item.Cluster)
	known := &opening{item: item, found: now}
	if request := requestOf(r.view, item); request != nil {
		known.Opening, known.ok = r.fleet.Opening(*request, r.endsFor(item))
	}
	r.kept[item.Cluster] = known
	return known
}

// longAgo is when a task ends that ends at any moment: nothing that has a time limit is over before.
var longAgo = time.Unix(1, 0)

// endsFor is ends for a head, which does not wait for what can be stopped for it or is asked to stop already: all of that
// is kept for it, or what is over in a while would take it again and again.
func (r *round) endsFor(item *queue.Item) schedule.Ends {
	if r.lent == nil {
		r.lent = r.borrowed()
	}
	return func(t *spec.Task) time.Time {
		if s := r.placed[t.ID]; s != nil && !s.stopping.IsZero() {
			return longAgo
		}
		if _, may := r.price(t, item, r.lent[t.ID]); may {
			return longAgo
		}
		return r.ends(t)
	}
}

// keep holds what is reserved in a cluster. When hosts changed so that it is worth nothing any more it is made anew.
func (r *round) keep(cluster string) bool {
	if r.held[cluster] != nil {
		return true
	}
	for range 2 {
		known := r.kept[cluster]
		if known == nil || !known.ok {
			return false
		}
		request := requestOf(r.view, known.item)
		if request == nil {
			return false
		}
		held, valid := r.fleet.Keep(*request, known.Opening, r.endsFor(known.item))
		if valid {
			r.held[cluster] = held
			return true
		}
		r.find(known.item, r.cfg.Now())
	}
	return false
}

// letGo shows what is reserved in a cluster again.
func (r *round) letGo(cluster string) {
	for _, task := range r.held[cluster] {
		r.fleet.DropTask(task)
	}
	delete(r.held, cluster)
}

var _ queue.Places = (*round)(nil)
