package server

import "context"

// Heartbeat takes the heartbeat of a host: see liveness.Monitor.
func (s *Server) Heartbeat(ctx context.Context, hostID string) error {
	return s.liveness.Heartbeat(ctx, hostID)
}

// Connected reports whether the pool has the host, has not given it up, and heard of it within Config.LostAfter. Only the
// leader knows.
func (s *Server) Connected(hostID string) bool { return s.liveness.Connected(hostID) }
