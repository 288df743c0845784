package raftfsm

import (
	"sync/atomic"
	"time"
)

var (
	tableApplied = register(noun[lastApplied]{
		table: "applied", indexes: []*index[lastApplied]{appliedIndex},
		noChanges: "each change has its place in the log", noExpiry: "it is one record",
	})
	appliedIndex = indexBy(func(*lastApplied) string { return "" })
)

// lastApplied remembers the log index of the last change.
type lastApplied struct {
	Index uint64 `json:"index"`
}

// State is everything the cluster remembers. It works without Raft: whoever applies the same commands in the same
// order gets the same state. Reads never wait for writes.
type State struct {
	versions    atomic.Pointer[tableVersions]
	changes     changelog
	hostWatches hostWatches
	applied     appliedSignal
}

// NewState returns an empty state.
func NewState() *State {
	s := new(State)
	s.versions.Store(emptyTables())
	return s
}

// tableVersions is a version of each table, in the order of tables.
type tableVersions []any

func emptyTables() *tableVersions {
	empty := make(tableVersions, len(tables))
	for i, table := range tables {
		empty[i] = table.writable(nil)
	}
	return &empty
}

// View returns the state as it is now.
func (s *State) View() *View { return &View{versions: *s.versions.Load(), state: s} }

// Apply is ApplyAt for whom it does not matter when that was.
func (s *State) Apply(index uint64, c Command) (any, error) { return s.ApplyAt(index, time.Time{}, c) }

// ApplyAt carries out one command at its place in the log, which got there at a moment that only Changes tell. Either all
// of it happens or, when an error is returned, nothing. The answer is shared and must not be changed. One command is applied
// at a time.
func (s *State) ApplyAt(index uint64, at time.Time, c Command) (any, error) {
	tx := s.begin()
	answer, err := c.apply(tx)
	if err != nil {
		return nil, err
	}
	if len(tx.mutations) > 0 {
		changes := changesOf(tx.mutations)
		tx.put(tableApplied, &lastApplied{Index: index})
		tx.commit()
		s.changes.append(index, at, changes) // now: who hears of a change finds it in the state
		s.hostWatches.notify(tx.mutations)
		s.applied.notify()
	}
	return answer, nil
}
