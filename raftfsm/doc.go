// Package raftfsm is the replicated state machine of a pool: the commands, the state that they change, and the thin adapter
// through which Raft applies them. The types of the recorded objects are in raftfsm/spec.
//
// This package never reads a clock, draws a random number, starts a goroutine, uses a network or logs: ids and times arrive
// inside the commands, so every server computes the same state from the same log.
//
// Objects that a View returns are shared and immutable. To change one, copy it first.
package raftfsm
