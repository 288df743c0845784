// Package raftfsmtest applies commands to a state, for the tests of nouns in packages below raftfsm.
package raftfsmtest

import (
	"errors"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/command"
	"pinion/raftfsm/spec"
)

// Epoch is the time at which the pool of New was created.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// At is so many minutes after Epoch.
func At(minutes int) time.Time { return Epoch.Add(time.Duration(minutes) * time.Minute) }

// State is the state of a pool. Commands reach it as they do through Raft: encoded and decoded.
type State struct {
	*raftfsm.State
	t     testing.TB
	index uint64
}

// New returns the state of a pool without hosts.
func New(t testing.TB) *State {
	s := &State{State: raftfsm.NewState(), t: t}
	s.Do(raftfsm.CreatePool{Pool: spec.Pool{ID: "pool", CreatedAt: Epoch}})
	return s
}

// Try applies a command of package raftfsm and returns its answer.
func (s *State) Try(c raftfsm.Command) (any, error) {
	s.t.Helper()
	entry, err := raftfsm.Encode(c)
	if err != nil {
		s.t.Fatal(err)
	}
	decoded, err := raftfsm.Decode(entry)
	if err != nil {
		s.t.Fatal(err)
	}
	s.index++
	return s.Apply(s.index, decoded)
}

// Do applies a command of package raftfsm that must not be refused.
func (s *State) Do(c raftfsm.Command) any {
	s.t.Helper()
	answer, err := s.Try(c)
	if err != nil {
		s.t.Fatalf("%T: %v", c, err)
	}
	return answer
}

// Change applies a command of a noun that must not be refused.
func Change[C command.Command](s *State, c C) any {
	s.t.Helper()
	return s.Do(raftfsm.Wrap(c))
}

// Refuse applies a command of a noun that must be refused with the error.
func Refuse[C command.Command](s *State, c C, want error) {
	s.t.Helper()
	if _, err := s.Try(raftfsm.Wrap(c)); !errors.Is(err, want) {
		s.t.Errorf("%#v: %v, want %v", c, err, want)
	}
}
