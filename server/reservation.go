package server

import (
	"slices"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// reservation is the reservation of a cluster: where and when its head can start.
type reservation struct {
	schedule.Reservation
	item    *queue.Item
	ok      bool
	foundAt time.Time
}

// reservationMaxAge is how long a reservation is kept when a better one may have become possible: looking costs a look at every
// host.
const reservationMaxAge = time.Second

// Reserve is queue.Places. A reservation stays as long as it holds.
func (r *queueRound) Reserve(item *queue.Item) (at time.Time, ok bool) {
	now := r.cfg.Now()
	known := r.reservations[item.Cluster]
	if known == nil || known.item != item || now.Sub(known.foundAt).Abs() > reservationMaxAge || !known.At.IsZero() && now.After(known.At) {
		known = r.reserve(item, now)
	}
	return known.At, known.ok && r.hold(item.Cluster)
}

// invalidate forgets a reservation of which nobody knows when, once one of its hosts has more to give: it may be known now.
func (w *queueController) invalidate(cluster string, gained map[string]bool) {
	known := w.reservations[cluster]
	if known != nil && known.At.IsZero() && slices.ContainsFunc(known.Hosts, func(s schedule.Allotment) bool { return gained[s.HostID] }) {
		delete(w.reservations, cluster)
	}
}

// reserve makes a new reservation.
func (r *queueRound) reserve(item *queue.Item, now time.Time) *reservation {
	r.release(item.Cluster)
	known := &reservation{item: item, foundAt: now}
	if request := requestOf(r.view, item); request != nil {
		known.Reservation, known.ok = r.hosts.FindReservation(*request, r.endTimesFor(item))
	}
	r.reservations[item.Cluster] = known
	return known
}

// alreadyEnding is when a task ends that ends at any moment: nothing that has a time limit is over before.
var alreadyEnding = time.Unix(1, 0)

// endTimesFor is ends for a head, which does not wait for what can be stopped for it or is asked to stop already: all of that
// is kept for it, or what is over in a while would take it again and again.
func (r *queueRound) endTimesFor(item *queue.Item) schedule.EndTime {
	if r.borrowedTasks == nil {
		r.borrowedTasks = r.borrowed()
	}
	return func(t *spec.Task) time.Time {
		if s := r.placed[t.ID]; s != nil && !s.stoppingAt.IsZero() {
			return alreadyEnding
		}
		if _, may := r.evictionCost(t, item, r.borrowedTasks[t.ID]); may {
			return alreadyEnding
		}
		return r.endTime(t)
	}
}

// hold holds what is reserved in a cluster. When hosts changed so that it is worth nothing any more it is made anew.
func (r *queueRound) hold(cluster string) bool {
	if r.holds[cluster] != nil {
		return true
	}
	for range 2 {
		known := r.reservations[cluster]
		if known == nil || !known.ok {
			return false
		}
		request := requestOf(r.view, known.item)
		if request == nil {
			return false
		}
		held, valid := r.hosts.Hold(*request, known.Reservation, r.endTimesFor(known.item))
		if valid {
			r.holds[cluster] = held
			return true
		}
		r.reserve(known.item, r.cfg.Now())
	}
	return false
}

// release shows what is reserved in a cluster again.
func (r *queueRound) release(cluster string) {
	for _, task := range r.holds[cluster] {
		r.hosts.DropTask(task)
	}
	delete(r.holds, cluster)
}

var _ queue.Placer = (*queueRound)(nil)
