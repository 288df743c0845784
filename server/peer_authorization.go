package server

import (
	"fmt"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/peer"
)

// authorizePeer says why a host that has a valid certificate may not connect to this one, nil when it may. Removed hosts may
// do nothing any more. Raft is for servers: an agent that speaks it wants to change what the pool has decided.
func (a peerAPI) authorizePeer(hostID, protocol string) error {
	if !a.isMemberHost(hostID) {
		return fmt.Errorf("host %s: %w", hostID, spec.ErrRemoved)
	}
	own := a.m.localServer()
	if protocol != peer.Raft || own == nil || own.allowsRaftFrom(hostID) {
		return nil
	}
	if _, known := a.m.warnedPeers.LoadOrStore(hostID, true); !known {
		a.m.log.Warn("a host that is no server wants to speak Raft with this one, and is turned away each time", "id", hostID)
	}
	return fmt.Errorf("host %s is no server of the pool", hostID)
}

// configStaleAfter is how long after it last heard of a leader a server takes what it knows of the other servers for certain.
// It outlasts an election.
const configStaleAfter = 3 * time.Second

// allowsRaftFrom reports whether the host may speak Raft with this server: those that the pool wants as servers, and those
// in Raft's configuration, may. A server that has been without a leader for a while may have missed who the others are,
// even all of them: then it hears every host of the pool, or it would never catch up.
func (s *Server) allowsRaftFrom(hostID string) bool {
	return s.servers.IsServer(hostID) || !s.Leads() && time.Since(s.node.Raft().LastContact()) > configStaleAfter
}
