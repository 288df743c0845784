package raftfsm

import (
	"fmt"
	"pinion/raftfsm/spec"
)

// ledger is what hosts have left while a command gives places away: each host is derived once, when it is asked for, and
// loses from then on what is taken of it. It lives as long as the command, which changes no host itself.
type ledger struct {
	view *View // of the command: what it has recorded counts
	left map[string]*room
}

// room is a host and what it has left.
type room struct {
	*spec.Host
	free spec.Free
}

func newLedger(v *View) *ledger { return &ledger{view: v, left: map[string]*room{}} }

// take gives a task its place, or says what it ran into. Until the task is recorded, forget takes it back.
func (l *ledger) take(task *spec.Task) (why string) {
	r := l.room(task.HostID)
	switch {
	case r == nil || r.Cluster != task.Cluster:
		return fmt.Sprintf("host %q is not in cluster %s", task.HostID, task.Cluster)
	case r.Status != spec.HostActive:
		return fmt.Sprintf("host %s is %s", r.ID, r.Status)
	case r.Lost():
		return fmt.Sprintf("host %s is lost", r.ID)
	}
	if _, detail := spec.FitsPlaced(r.free, task); detail != "" {
		return fmt.Sprintf("host %s: %s", r.ID, detail)
	}
	r.free.Subtract(task)
	return ""
}

// room is nil when the host is not known.
func (l *ledger) room(hostID string) *room {
	r := l.left[hostID]
	if r == nil {
		host := l.view.Host(hostID)
		if host == nil {
			return nil
		}
		r = &room{host, l.view.Free(hostID)}
		l.left[hostID] = r
	}
	return r
}

// forget derives the hosts of the tasks anew: what was taken for those that are not recorded is nobody's.
func (l *ledger) forget(tasks []*spec.Task) {
	for _, task := range tasks {
		delete(l.left, task.HostID)
	}
}
