package scheduler

import (
	"slices"
	"sync/atomic"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/prefetch"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// reservation is where and when the head of a cluster can start.
type reservation struct {
	schedule.Reservation
	item    *queue.Item
	ok      bool // there is one
	foundAt time.Time
}

// reservations are those of all clusters, for the queue controller alone but for what is published.
type reservations struct {
	byCluster map[string]*reservation
	published atomic.Pointer[[]prefetch.Reservation]
}

// reservationMaxAge is how long a reservation is kept while a better one may have become possible: finding one looks at
// every host.
const reservationMaxAge = time.Second

// Reserve implements queue.Placer. A reservation stays as long as it holds.
func (r *queueRound) Reserve(item *queue.Item) (at time.Time, ok bool) {
	known := r.controller.reservations.byCluster[item.Cluster]
	if known == nil || known.item != item || r.now.Sub(known.foundAt).Abs() > reservationMaxAge || !known.At.IsZero() && r.now.After(known.At) {
		known = r.reserve(item)
	}
	return known.At, known.ok && r.hold(item.Cluster)
}

// invalidateReservation forgets a reservation without a shadow time when one of its hosts has more free capacity: the
// shadow time may be known now.
func (w *queueController) invalidateReservation(cluster string, freed map[string]bool) {
	known := w.reservations.byCluster[cluster]
	if known != nil && known.At.IsZero() && slices.ContainsFunc(known.Hosts, func(a schedule.Allotment) bool { return freed[a.HostID] }) {
		delete(w.reservations.byCluster, cluster)
	}
}

// reserve makes a new reservation.
func (r *queueRound) reserve(item *queue.Item) *reservation {
	r.release(item.Cluster)
	known := &reservation{item: item, foundAt: r.now}
	if request := requestOf(r.view, item); request != nil {
		known.Reservation, known.ok = r.hosts.FindReservation(*request, r.endTimesFor(item))
	}
	r.controller.reservations.byCluster[item.Cluster] = known
	return known
}

// alreadyEnding is the end of a task that ends at any moment: before the time limit of any other.
var alreadyEnding = time.Unix(1, 0)

// endTimesFor are the end times that count for a head. A task that may be stopped for it, or that is stopping already,
// counts as ending at any moment: all of that capacity is kept for the head, or short tasks would take it again and again.
func (r *queueRound) endTimesFor(item *queue.Item) schedule.EndTime {
	c := r.controller
	if r.borrowed == nil {
		r.borrowed = c.placed.borrowed(c.queue.Teams)
	}
	return func(t *spec.Task) time.Time {
		if p := c.placed[t.ID]; p != nil && !p.stoppingAt.IsZero() {
			return alreadyEnding
		}
		if _, may := c.evictionCost(t, item, r.borrowed[t.ID]); may {
			return alreadyEnding
		}
		return c.placed.endTime(t)
	}
}

// hold keeps the reservation of a cluster from other items. One that does not hold any more is made anew.
func (r *queueRound) hold(cluster string) bool {
	if r.holds[cluster] != nil {
		return true
	}
	for range 2 {
		known := r.controller.reservations.byCluster[cluster]
		if known == nil || !known.ok {
			return false
		}
		request := requestOf(r.view, known.item)
		if request == nil {
			return false
		}
		holds, valid := r.hosts.Hold(*request, known.Reservation, r.endTimesFor(known.item))
		if valid {
			r.holds[cluster] = holds
			return true
		}
		r.reserve(known.item)
	}
	return false
}

// release lets other items take what is reserved in a cluster.
func (r *queueRound) release(cluster string) {
	for _, task := range r.holds[cluster] {
		r.hosts.DropTask(task)
	}
	delete(r.holds, cluster)
}

// publish lets other goroutines read the reservations.
func (r *reservations) publish() {
	var all []prefetch.Reservation
	for _, known := range r.byCluster {
		if !known.ok {
			continue
		}
		kept := prefetch.Reservation{TaskID: known.item.ID()}
		for _, a := range known.Hosts {
			kept.Hosts = append(kept.Hosts, a.HostID)
		}
		all = append(all, kept)
	}
	r.published.Store(&all)
}

// Reservations lists the room that is kept for the task, or the first of the gang, at the head of each queue, as of a moment ago; none
// while this host does not lead.
func (s *Scheduler) Reservations() []prefetch.Reservation {
	t := s.term.Load()
	if t == nil || t.ctx.Err() != nil {
		return nil
	}
	if all := t.controller.reservations.published.Load(); all != nil {
		return *all
	}
	return nil
}
