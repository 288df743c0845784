package raftfsm

import (
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// ApplyResult is the result of an applied command in Raft's future: the command's answer, or the error that refused it.
type ApplyResult struct {
	Value any
	Err   error
}

// NewFSM adapts the state to Raft. It has no logic of its own.
func NewFSM(s *State) raft.FSM { return &fsm{s} }

type fsm struct{ state *State }

// Apply returns an ApplyResult. An entry that cannot be decoded stops the process: continuing would make this server's state
// diverge from its peers.
func (f *fsm) Apply(entry *raft.Log) any {
	command, err := Decode(entry.Data)
	if err != nil {
		panic(fmt.Sprintf("log entry %d: %v", entry.Index, err))
	}
	value, err := f.state.ApplyAt(entry.Index, entry.AppendedAt, command)
	return ApplyResult{Value: value, Err: err}
}

// Snapshot only takes a view, so commands are applied while it is written.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) { return fsmSnapshot{f.state.View()}, nil }

// Restore replaces the state; a refused snapshot leaves it unchanged.
func (f *fsm) Restore(snapshot io.ReadCloser) error {
	defer snapshot.Close()
	return f.state.Restore(snapshot)
}

type fsmSnapshot struct{ view *View }

// Persist writes the view completely, or cancels the sink.
func (s fsmSnapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.view.WriteSnapshot(sink); err != nil {
		sink.Cancel()
		return err
	}
	return sink.Close()
}

// Release does nothing: a view holds only memory.
func (s fsmSnapshot) Release() {}
