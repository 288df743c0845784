// Package raftfsm is the replicated state machine of a pool: the commands, the state that they change, and the thin adapter
// through which Raft applies them. The types of the recorded objects are in raftfsm/spec.
//
// This package never reads a clock, draws a random number, starts a goroutine, uses a network or logs: ids and times arrive
// inside the commands, so every server computes the same state from the same log.
//
// Objects that a View returns are shared and immutable. To change one, copy it first.
package raftfsm

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"pinion/raftfsm/change"
	"pinion/raftfsm/changelog"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/tally"
	"pinion/raftfsm/watch"
)

var (
	tableApplied = register(noun[lastApplied]{
		table: "applied", indexes: []*table.Index[lastApplied]{appliedIndex},
		noChanges: "each change has its place in the log", noExpiry: "it is one record",
	})
	appliedIndex = table.By(func(*lastApplied) string { return "" })
)

// lastApplied remembers the log index of the last change, and of the last one that removed stopped tasks.
type lastApplied struct {
	Index  uint64 `json:"index"`
	Reaped uint64 `json:"reaped,omitempty" level:"1"`
}

// State is the replicated state of the pool. It works without Raft: the same commands in the same order give the same state. Reads
// never wait for writes.
type State struct {
	current     atomic.Pointer[View]
	changes     changelog.Log[*Change]
	hostWatches watch.Keys // by host: its tasks that are not STOPPED
	applied     watch.Signal
	routing     watch.Versions // of what may be in the Routing
}

// NewState returns an empty state.
func NewState() *State {
	return Fork(&View{versions: table.Load(tables, nil), tallies: new(tally.Tallies)})
}

// Fork returns a state of its own that begins as a view is: what is applied to it changes no other.
func Fork(v *View) *State {
	s := new(State)
	s.current.Store(&View{versions: v.versions, tallies: v.tallies, state: s})
	return s
}

// View returns the state as it is now.
func (s *State) View() *View { return s.current.Load() }

// Apply is ApplyAt without a time.
func (s *State) Apply(index uint64, c Command) (any, error) { return s.ApplyAt(index, time.Time{}, c) }

// ApplyAt applies the command at an index of the log. at is when the leader appended the entry, and appears in Changes only. A
// command that returns an error changes nothing. The answer is shared and must not be changed. Calls do not overlap.
func (s *State) ApplyAt(index uint64, at time.Time, c Command) (any, error) {
	tx := s.begin()
	answer, err := c.apply(tx)
	if err != nil {
		return nil, err
	}
	if len(tx.mutations) > 0 {
		changes := changesOf(index, at, tx.mutations)
		applied := &lastApplied{Index: index, Reaped: tx.Reaped()}
		if tx.reaps {
			applied.Reaped = index
		}
		tx.put(tableApplied, applied)
		tx.commit()
		s.changes.Append(index, changes) // after the state: a reader that sees a change finds it in the state
		s.hostWatches.Notify(hostsWithChanges(tx.mutations)...)
		s.routing.NotifyIf(slices.ContainsFunc(tx.mutations, func(m mutation) bool { return change.AffectsRouting(m.before, m.after) }))
		s.applied.Notify()
	}
	return answer, nil
}

// RoutingVersion grows with each change of what may be in the Routing of the state, and changed is closed by the next one.
func (s *State) RoutingVersion() (version uint64, changed <-chan struct{}) { return s.routing.Wait() }

// hostsWithChanges lists the hosts of which a task has changed that was not STOPPED, or is not.
func hostsWithChanges(made []mutation) (hosts []string) {
	for _, m := range made {
		for _, object := range []any{m.before, m.after} {
			if task, ok := object.(*spec.Task); ok && task.LastStatus != spec.Stopped {
				hosts = append(hosts, task.HostID)
			}
		}
	}
	return hosts
}

// WaitForIndex waits until the state has the change at index and all before it. The error is the cause of the context's end.
func (s *State) WaitForIndex(ctx context.Context, index uint64) error {
	for {
		applied := s.applied.Wait()
		if s.View().Index() >= index {
			return nil
		}
		select {
		case <-applied:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
