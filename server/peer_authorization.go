package server

import (
	"fmt"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/peer"
)

// authorizePeer returns why a host with a valid certificate may not connect to this one; nil when it may. Removed hosts are
// refused. Raft is for servers: an agent that speaks it could alter the pool's decisions.
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

// configStaleAfter is the time without a leader after which a server treats its knowledge of the other servers as stale. It is
// longer than an election.
const configStaleAfter = 3 * time.Second

// allowsRaftFrom reports whether the host may speak Raft with this server: the pool's desired servers and those in Raft's
// configuration may. A server without a leader for configStaleAfter may have missed that all other servers were replaced, so
// it accepts every host of the pool; otherwise it could never catch up.
func (s *Server) allowsRaftFrom(hostID string) bool {
	return s.servers.IsServer(hostID) || !s.Leads() && time.Since(s.node.Raft().LastContact()) > configStaleAfter
}
