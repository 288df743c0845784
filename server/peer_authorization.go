package server

import (
	"fmt"

	"pinion/raftfsm/spec"
	"pinion/server/peer"
)

// authorizePeer returns why a host with a valid certificate may not connect to this one; nil when it may. Removed hosts are
// refused. Raft is for servers: an agent that speaks it could alter the pool's decisions. A server that missed that all others were
// exchanged learns of them through its agent, see FindServers.
func (a peerAPI) authorizePeer(hostID, protocol string) error {
	if !a.isMemberHost(hostID) {
		return fmt.Errorf("host %s: %w", hostID, spec.ErrRemoved)
	}
	own := a.m.localServer()
	if protocol != peer.Raft || own == nil || a.isKnownServer(hostID) {
		return nil
	}
	if _, known := a.m.warnedPeers.LoadOrStore(hostID, true); !known {
		a.m.log.Warn("a host that is no server wants to speak Raft with this one, and is turned away each time", "id", hostID)
	}
	return fmt.Errorf("host %s is no server of the pool", hostID)
}
