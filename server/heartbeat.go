package server

import (
	"context"

	"pinion/raftfsm"
)

// Heartbeat takes the heartbeat of a host: see liveness.Monitor.
func (s *Server) Heartbeat(ctx context.Context, hostID string) error {
	return s.liveness.Heartbeat(ctx, hostID)
}

// Connected reports whether the pool has the host, has not given it up, and heard of it within Config.LostAfter. Only the
// leader knows.
func (s *Server) Connected(hostID string) bool { return s.liveness.Connected(hostID) }

// isSchedulable reports whether new tasks may be placed on the host.
func (t *leaderTerm) isSchedulable(_ *Config, hostID string) bool { return t.schedulable(hostID) }

// proposer records commands for the loops of a term, which end before the server does.
type proposer struct{ s *Server }

// Propose is Server.Propose without the check that this server may answer: the loop ends with the term.
func (p proposer) Propose(ctx context.Context, c raftfsm.Command) (any, error) {
	return p.s.propose(ctx, c)
}
