package rollout

import (
	"cmp"
	"slices"

	"pinion/raftfsm/spec"
)

// hostsInNeed are the hosts of a DAEMON without a current task, those first that have none at all.
func (all replicas) hostsInNeed(of []*spec.Host) (hosts []string) {
	tasks := map[string]int{}
	for _, r := range all {
		if r.current {
			tasks[hostOf(r.Task)] = -1
		} else if n := tasks[hostOf(r.Task)]; n >= 0 && !r.stopped {
			tasks[hostOf(r.Task)]++
		}
	}
	for _, host := range of {
		if tasks[host.ID] >= 0 {
			hosts = append(hosts, host.ID)
		}
	}
	slices.SortStableFunc(hosts, func(a, b string) int { return cmp.Compare(tasks[a], tasks[b]) })
	return hosts
}

// hostOf is the host that a task of a DAEMON is for.
func hostOf(t *spec.Task) string { return cmp.Or(t.HostID, t.Service.Host) }

// keepOnePerHost leaves one current task on each host that a DAEMON is for: the one that it would lose most with.
func (all replicas) keepOnePerHost(hosts []*spec.Host) {
	has := map[string]bool{}
	for _, host := range hosts {
		has[host.ID] = false
	}
	order := all.stopOrder(isCurrent)
	slices.Reverse(order)
	for _, r := range order {
		taken, wanted := has[hostOf(r.Task)]
		r.current = wanted && !taken
		has[hostOf(r.Task)] = true
	}
}

// isFor reports whether the host of a task is one of those.
func isFor(hosts []*spec.Host, r *replica) bool {
	return slices.ContainsFunc(hosts, func(h *spec.Host) bool { return h.ID == hostOf(r.Task) })
}
