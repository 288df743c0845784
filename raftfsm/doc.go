// Package raftfsm holds the replicated truth of a Pinion cluster: its nouns, the commands that change them, the state
// they live in, and the thin adapter through which Raft applies them.
//
// Nothing in here reads a clock, draws a random number, starts a goroutine, talks to a network or logs: ids and times
// arrive inside the commands, so every server computes the same state from the same log.
//
// Objects that a View returns are shared and immutable. Whoever wants to change one copies it first.
package raftfsm
