package raftfsm

import (
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// Outcome is what Raft's future answers for an applied command: the command's answer, or why it was refused.
type Outcome struct {
	Value any
	Err   error
}

// NewFSM lets Raft drive the state. Nothing is decided here.
func NewFSM(s *State) raft.FSM { return &fsm{s} }

type fsm struct{ state *State }

// Apply answers an Outcome. An entry that cannot be decoded stops the process: going on without it would leave this
// server with another state than its peers.
func (f *fsm) Apply(entry *raft.Log) any {
	command, err := Decode(entry.Data)
	if err != nil {
		panic(fmt.Sprintf("log entry %d: %v", entry.Index, err))
	}
	value, err := f.state.ApplyAt(entry.Index, entry.AppendedAt, command)
	return Outcome{Value: value, Err: err}
}

// Snapshot only takes a view, so commands go on while it is written.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) { return fsmSnapshot{f.state.View()}, nil }

// Restore replaces the state; it stays as it was when the snapshot is refused.
func (f *fsm) Restore(snapshot io.ReadCloser) error {
	defer snapshot.Close()
	return f.state.Restore(snapshot)
}

type fsmSnapshot struct{ view *View }

// Persist writes the view, or nothing that anyone would take for a snapshot.
func (s fsmSnapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.view.WriteSnapshot(sink); err != nil {
		sink.Cancel()
		return err
	}
	return sink.Close()
}

// Release has nothing to give back: a view is only memory.
func (s fsmSnapshot) Release() {}
