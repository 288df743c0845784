package rollout

import (
	"cmp"
	"slices"

	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// replica is a live task of the service.
type replica struct {
	*spec.Task
	fit       bool // neither unhealthy, nor on a draining host, nor on a GPU that it has to leave
	current   bool // it is what the service is to have
	healthy   bool
	unhealthy bool   // its health check fails, and its grace is over
	noPlace   bool   // it waits, and the queue has had the time to find it a place
	stopped   bool   // by this step
	gpuFault  string // why it has to leave its GPU; empty when it stays
	told      bool   // an event has said that it is stopped
	zone      string // of its host, when the service rebalances
}

// replicas are live tasks of the service.
type replicas []*replica

// readTasks finds the live tasks and what they are.
func (p *planner) readTasks() {
	for _, t := range p.tasks {
		switch {
		case t.LastStatus == spec.Stopped:
		case t.DesiredStatus == spec.Stopped:
			p.stopping++
		default:
			p.live = append(p.live, p.rules.replica(t))
		}
	}
	if p.s.Strategy == service.Daemon {
		p.live.keepOnePerHost(p.f.Hosts)
	}
	p.stops = &stops{s: p.s, now: p.now, step: &p.step, rules: p.rules, live: p.live}
}

// count counts the live tasks that a step leaves and that are so.
func (all replicas) count(is func(*replica) bool) (n int) {
	for _, r := range all {
		if !r.stopped && is(r) {
			n++
		}
	}
	return n
}

func isCurrent(r *replica) bool        { return r.current }
func isOutdated(r *replica) bool       { return !r.current }
func isHealthy(r *replica) bool        { return r.healthy }
func isCurrentHealthy(r *replica) bool { return r.current && r.healthy }
func isAny(*replica) bool              { return true }

// stopOrder lists the live tasks that are so in the order in which they are stopped: those without a place first, then those that do not run,
// are unhealthy or not healthy yet, then one of the zone that has most tasks of the service then, of the host with most, the newest first.
func (all replicas) stopOrder(is func(*replica) bool) replicas {
	onHost := map[string]int{}
	var some replicas
	for _, r := range all {
		if r.stopped {
			continue
		}
		onHost[r.HostID]++
		if is(r) {
			some = append(some, r)
		}
	}
	slices.SortFunc(some, func(a, b *replica) int {
		return cmp.Or(a.rank()-b.rank(), onHost[b.HostID]-onHost[a.HostID], b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	left, inZone := all.byZone(), map[*replica]int{} // tasks of the zone before each is stopped
	for _, r := range some {
		inZone[r] = left[r.zone]
		left[r.zone]--
	}
	slices.SortStableFunc(some, func(a, b *replica) int { return cmp.Or(a.rank()-b.rank(), inZone[b]-inZone[a]) })
	return some
}

// rank grows with what the service loses when the task is stopped.
func (r *replica) rank() int {
	switch {
	case r.LastStatus == spec.Provisioning:
		return 0
	case r.LastStatus == spec.Pending:
		return 1
	case r.unhealthy:
		return 2
	case !r.healthy:
		return 3
	}
	return 4
}

// firstWithoutPlace is the live task that has waited longest without a place, nil when there is none.
func (all replicas) firstWithoutPlace() (first *spec.Task) {
	for _, r := range all {
		if r.noPlace && !r.stopped && (first == nil || r.CreatedAt.Before(first.CreatedAt)) {
			first = r.Task
		}
	}
	return first
}
