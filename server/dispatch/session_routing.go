package dispatch

import (
	"context"

	"pinion/raftfsm/traffic"
)

// applyRouting applies a delta to the Routing.
func (s *AgentSession) applyRouting(d routingDelta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	routing := d.apply(*s.routing)
	s.routing, s.routed = &routing, true
	s.changed.Notify()
}

// lastRouting is the Routing as of the last delta.
func (s *AgentSession) lastRouting() *traffic.Routing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.routing
}

// Routing is Backend.Routing; the handshake has told the server what this host has seen. An older server says nothing of it.
func (s *AgentSession) Routing(ctx context.Context, _ string, seen *traffic.Routing) (*traffic.Routing, error) {
	for {
		changed := s.changed.Wait()
		s.mu.Lock()
		routing, routed := s.routing, s.routed
		s.mu.Unlock()
		if routed && routing != seen {
			return routing, nil
		}
		select {
		case <-changed:
		case <-s.ended:
			return nil, s.closedErr()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
