package server

import (
	"time"

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

// find makes a new reservation.
func (r *round) find(item *queue.Item, now time.Time) *opening {
	r.letGo(item.Cluster)
	known := &opening{item: item, found: now}
	if request := requestOf(r.view, item); request != nil {
		known.Opening, known.ok = r.fleet.Opening(*request, r.ends)
	}
	r.kept[item.Cluster] = known
	return known
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
		held, valid := r.fleet.Keep(*request, known.Opening, r.ends)
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
