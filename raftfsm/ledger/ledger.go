// Package ledger has the free capacity of hosts while one command hands out placements.
//
// A GPU has one owner. A ledger.Ledger derives what each host has left inside the transaction, once for the whole entry, and asks FitsTask,
// which is Fits and every named UUID free and named once. The planner asked Fits before, so a refusal means that another entry came between, and
// the run is planned again.
//
// A GPU has one mode: one owner, or shares within its memory, kept as a gpu.Account (gpu/DESIGN.md). Shares are given on hosts that enforce
// them.
package ledger

import (
	"fmt"

	"pinion/raftfsm/spec"
)

// Ledger is the free capacity of hosts while one command makes placements: a host's capacity is derived at first use, and
// reduced by each reservation. It lives as long as the command, which changes no host.
type Ledger struct {
	view  hostView // of the command; includes what the command has recorded
	hosts map[string]*hostCapacity
}

// hostView is the read of the state that a Ledger needs.
type hostView interface {
	Host(hostID string) *spec.Host
	Free(hostID string) spec.Free
}

// hostCapacity is a host and its free resources.
type hostCapacity struct {
	*spec.Host
	free spec.Free
}

// New returns the ledger of a command.
func New(view hostView) *Ledger { return &Ledger{view: view, hosts: map[string]*hostCapacity{}} }

// Reserve takes the resources of a placed task, or returns the conflict. Until the task is recorded, Rollback releases
// them.
func (l *Ledger) Reserve(task *spec.Task) (why string) {
	r := l.capacity(task.HostID)
	switch {
	case r == nil || r.Cluster != task.Cluster:
		return fmt.Sprintf("host %q is not in cluster %s", task.HostID, task.Cluster)
	case r.Status != spec.HostActive:
		return fmt.Sprintf("host %s is %s", r.ID, r.Status)
	case r.Lost():
		return fmt.Sprintf("host %s is lost", r.ID)
	}
	if detail, fits := spec.FitsTask(&r.free, task); !fits {
		return fmt.Sprintf("host %s: %s", r.ID, detail)
	}
	r.free.Subtract(task)
	return ""
}

// capacity returns nil when the host is unknown.
func (l *Ledger) capacity(hostID string) *hostCapacity {
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

// Rollback derives the hosts of the tasks again; reservations of unrecorded tasks are lost.
func (l *Ledger) Rollback(tasks []*spec.Task) {
	for _, task := range tasks {
		delete(l.hosts, task.HostID)
	}
}
