package queue

import (
	"fmt"
	"slices"
	"time"
)

// model is a pool for tests: hosts with GPUs, tasks that hold them, and a clock that tests move. A task is on one host.
type model struct {
	*Queue
	now     time.Time
	hosts   []int // GPUs of each
	running map[string]*job
	kept    []int     // GPUs of each host that are reserved for the head
	at      time.Time // when the head can start; zero: nobody knows
	started []string  // in the order of their starts
	gone    string    // an item that was stopped, which the queue has not heard of
	fault   string
	places  Placer // the yard, or who looks over its shoulder
}

type job struct {
	item *Item
	host int
	end  time.Time // at the latest; zero: it does not end by itself
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newModel(hosts ...int) *model {
	y := &model{Queue: New(), now: start, hosts: hosts, running: map[string]*job{}, kept: make([]int, len(hosts))}
	y.places = y
	return y
}

func (y *model) free(host int) int {
	free := y.hosts[host]
	for _, j := range y.running {
		if j.host == host {
			free -= j.item.GPUs
		}
	}
	return free
}

// fit is the host with least free on which the item fits; -1 when there is none.
func (y *model) fit(item *Item, keep bool) int {
	if item.ID() == y.gone {
		return -1
	}
	best, least := -1, 0
	for h := range y.hosts {
		free := y.free(h)
		if keep {
			free -= y.kept[h]
		}
		if free >= item.GPUs && (best < 0 || free < least) {
			best, least = h, free
		}
	}
	return best
}

func (y *model) Place(item *Item, keep bool) bool {
	host := y.fit(item, keep)
	if host < 0 {
		return false
	}
	j := &job{item: item, host: host}
	if item.Limit > 0 {
		j.end = y.now.Add(item.Limit)
	}
	y.running[item.ID()] = j
	if y.free(host) < 0 {
		y.fault = fmt.Sprintf("host %d has %d GPUs left after %s", host, y.free(host), item.ID())
	}
	y.started = append(y.started, item.ID())
	return true
}

func (y *model) Reserve(item *Item) (at time.Time, ok bool) {
	y.at = time.Time{}
	clear(y.kept)
	if item.ID() == y.gone {
		return at, false
	}
	best := -1
	for h, gpus := range y.hosts {
		if gpus < item.GPUs {
			continue
		}
		opens := y.opens(h, item.GPUs)
		if best < 0 || !opens.IsZero() && (at.IsZero() || opens.Before(at)) {
			best, at = h, opens
		}
	}
	if best < 0 {
		return at, false
	}
	y.at = at
	y.kept[best] = min(item.GPUs, y.free(best))
	if !at.IsZero() {
		y.kept[best] = max(0, item.GPUs-y.ending(best, at))
	}
	return at, true
}

// opens is when the host has so many free GPUs, by the limits of what runs; zero: nobody knows.
func (y *model) opens(host, gpus int) time.Time {
	moments := []time.Time{y.now}
	for _, j := range y.running {
		if j.host == host && !j.end.IsZero() {
			moments = append(moments, j.end)
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	for _, at := range moments {
		if y.free(host)+y.ending(host, at) >= gpus {
			return at
		}
	}
	return time.Time{}
}

// ending is how many GPUs of the host are given back by then.
func (y *model) ending(host int, by time.Time) (gpus int) {
	for _, j := range y.running {
		if j.host == host && !j.end.IsZero() && !j.end.After(by) {
			gpus += j.item.GPUs
		}
	}
	return gpus
}

// round starts what may start: each start changes the shares, so it asks until nothing does.
func (y *model) round() {
	for {
		items := y.Round(y.now, 1<<30, y.places)
		if len(items) == 0 {
			return
		}
		for _, item := range items {
			y.Teams.StartUsage(item.ID(), item.Team, item.GPUs, y.now, y.now)
		}
	}
}

// end stops a task.
func (y *model) end(id string) {
	j := y.running[id]
	delete(y.running, id)
	y.Teams.EndUsage(id, y.now, y.now)
	y.RetryRefused(j.item.Cluster, func(item *Item) bool { return item.GPUs <= y.free(j.host) })
}

// stopUnheard stops what waits, and the queue hears of it after a round in which another one came.
func (y *model) stopUnheard(id string, other *Item) {
	y.gone = id
	y.Add(other)
	y.round()
	y.gone = ""
	y.Remove(id)
}

// pass moves the clock and stops what has come to its limit on the way, in the order of time.
func (y *model) pass(span time.Duration) {
	until := y.now.Add(span)
	for {
		next := ""
		for id, j := range y.running {
			if !j.end.IsZero() && !j.end.After(until) && (next == "" || j.end.Before(y.running[next].end) || j.end.Equal(y.running[next].end) && id < next) {
				next = id
			}
		}
		if next == "" {
			y.now = until
			return
		}
		y.now = y.running[next].end
		y.end(next)
		y.round()
	}
}
