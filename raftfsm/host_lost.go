package raftfsm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// MarkHostLost declares a host lost after too long without a heartbeat. Its capacity is not used from then on, and its
// tasks become STOPPED, except those in Keep, which were promised more time; a repeated call stops the tasks that are no
// longer in Keep. A host that reports a task which was stopped here is told to stop it. ErrNotFound. Answer: *Host.
//
// The leader answers heartbeats of a lost host with ErrNotFound, so that a host that reconnects at that moment joins again.
type MarkHostLost struct {
	ID     string
	At     time.Time
	Reason string   // StoppedReason of its tasks; empty: "host NAME was lost"
	Keep   []string // ids of tasks that are not stopped yet, because they were promised more time
}

func (c MarkHostLost) apply(tx *tx) (any, error) {
	known := tx.Host(c.ID)
	if known == nil {
		return nil, fmt.Errorf("host %q: %w", c.ID, spec.ErrNotFound)
	}
	tx.stopTasks(c.ID, c.Keep, c.At, cmp.Or(c.Reason, fmt.Sprintf("host %s was lost", known.Name)))
	if known.Lost() {
		return known, nil
	}
	host := *known
	host.LostAt = c.At
	return tx.updateHost(&host), nil
}

// stopTasks marks the tasks of the host STOPPED, except those in keep.
func (tx *tx) stopTasks(hostID string, keep []string, at time.Time, reason string) {
	for _, live := range tx.liveTasksOn(hostID) {
		if !slices.Contains(keep, live.ID) {
			tx.put(tableTasks, live.DeclaredStopped(at, reason))
		}
	}
}

// RecordConnections records which hosts the leader does not hear of any more, and which it hears of again, so that every server tells
// the readers of its events. It changes nothing else: what a silent host offers is the leader's decision, and MarkHostLost gives it up.
// A host that is unknown, or recorded so already, is skipped. Answer: nil.
type RecordConnections struct {
	Hosts []HostConnectivity
	At    time.Time
}

// HostConnectivity is a host that is silent, or heard of again.
type HostConnectivity struct {
	ID     string
	Silent bool
	Heard  time.Time `json:",omitzero"` // of a silent host: when it was heard of last
}

func (c RecordConnections) apply(tx *tx) (any, error) {
	for _, heard := range c.Hosts {
		known := tx.Host(heard.ID)
		if known == nil || known.Silent() == heard.Silent {
			continue
		}
		host := *known
		host.Connection = &spec.HostConnection{Silent: heard.Silent, At: c.At, Heard: heard.Heard}
		tx.updateHost(&host)
	}
	return nil, nil
}
