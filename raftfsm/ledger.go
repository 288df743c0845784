package raftfsm

import (
	"fmt"

	"pinion/raftfsm/spec"
)

// ledger is the free capacity of hosts while one command hands out placements: each host is derived once, on demand, and reduced by
// what is reserved from then on. It lives as long as the command, which changes no host.
type ledger struct {
	view  *View // of the command: what it has recorded counts
	hosts map[string]*hostCapacity
}

// hostCapacity is a host and its free resources.
type hostCapacity struct {
	*spec.Host
	free spec.Free
}

func newLedger(v *View) *ledger { return &ledger{view: v, hosts: map[string]*hostCapacity{}} }

// reserve takes the resources of a placed task, or says what they conflict with. Until the task is recorded, rollback gives them
// back.
func (l *ledger) reserve(task *spec.Task) (why string) {
	r := l.capacity(task.HostID)
	switch {
	case r == nil || r.Cluster != task.Cluster:
		return fmt.Sprintf("host %q is not in cluster %s", task.HostID, task.Cluster)
	case r.Status != spec.HostActive:
		return fmt.Sprintf("host %s is %s", r.ID, r.Status)
	case r.Lost():
		return fmt.Sprintf("host %s is lost", r.ID)
	}
	if _, detail := spec.FitsTask(r.free, task); detail != "" {
		return fmt.Sprintf("host %s: %s", r.ID, detail)
	}
	r.free.Subtract(task)
	return ""
}

// capacity is nil when the host is unknown.
func (l *ledger) capacity(hostID string) *hostCapacity {
	r := l.hosts[hostID]
	if r == nil {
		host := l.view.Host(hostID)
		if host == nil {
			return nil
		}
		r = &hostCapacity{host, l.view.Free(hostID)}
		l.hosts[hostID] = r
	}
	return r
}

// rollback derives the hosts of the tasks again, without what was reserved for tasks that are not recorded.
func (l *ledger) rollback(tasks []*spec.Task) {
	for _, task := range tasks {
		delete(l.hosts, task.HostID)
	}
}
