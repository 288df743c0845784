package raftfsm

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/credential"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableRemoved = register(noun[spec.RemovedHost]{
		table: "removed", indexes: []*table.Index[spec.RemovedHost]{removedByID},
		noChanges: "the change of the host says that it is gone", noExpiry: "a removed host never comes back",
	})
	removedByID = table.By(func(h *spec.RemovedHost) string { return h.ID })
)

// Removed reports whether the host with the id was removed.
func (v *View) Removed(hostID string) bool {
	return removedByID.Get(v, sortkey.Key{First: hostID}) != nil
}

// RemovedHosts lists every host that was removed.
func (v *View) RemovedHosts() []*spec.RemovedHost { return slices.Collect(removedByID.All(v)) }

// RemoveHost ends the membership of a host permanently and with it the host's access key, also of one that was admitted and never joined. With Force its
// tasks become STOPPED; without, a task that is not STOPPED is ErrInUse. A repeated removal is a no-op. ErrNotFound.
// Answer: *RemovedHost.
type RemoveHost struct {
	ID    string
	Force bool
	At    time.Time
}

func (c RemoveHost) apply(tx *tx) (any, error) {
	if removed := removedByID.Get(&tx.View, sortkey.Key{First: c.ID}); removed != nil {
		return removed, nil
	}
	host, admission := tx.Host(c.ID), tx.Admission(c.ID)
	if host == nil && admission == nil {
		return nil, fmt.Errorf("host %q: %w", c.ID, spec.ErrNotFound)
	}
	removed := &spec.RemovedHost{ID: c.ID, At: c.At}
	if host != nil {
		removed.Name = host.Name
		if left := len(tx.liveTasksOn(c.ID)); left > 0 && !c.Force {
			return nil, fmt.Errorf("host %s (%s): %w: it still has tasks (%d): drain it first, or use force", c.ID, host.Name, spec.ErrInUse, left)
		}
		tx.stopTasks(c.ID, nil, c.At, fmt.Sprintf("host %s was removed", host.Name))
		tx.remove(tableHosts, host)
	}
	if admission != nil {
		tx.remove(tableAdmissions, admission)
	}
	credential.RemoveOfHost(tx, c.ID)
	tx.put(tableRemoved, removed)
	return removed, nil
}
