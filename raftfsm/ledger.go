package raftfsm

import (
	"fmt"

	"pinion/raftfsm/spec"
)

// ledger is the free capacity of hosts while one command makes placements: a host's capacity is derived at first use, and
// reduced by each reservation. It lives as long as the command, which changes no host.
type ledger struct {
	view  *View // of the command; includes what the command has recorded
	hosts map[string]*hostCapacity
}

// hostCapacity is a host and its free resources.
type hostCapacity struct {
	*spec.Host
	free spec.Free
}

func newLedger(v *View) *ledger { return &ledger{view: v, hosts: map[string]*hostCapacity{}} }

// reserve takes the resources of a placed task, or returns the conflict. Until the task is recorded, rollback releases
// them.
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

// capacity returns nil when the host is unknown.
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

// rollback derives the hosts of the tasks again; reservations of unrecorded tasks are lost.
func (l *ledger) rollback(tasks []*spec.Task) {
	for _, task := range tasks {
		delete(l.hosts, task.HostID)
	}
}
