package server

import (
	"fmt"

	"pinion/raftfsm/spec"
	"pinion/server/peer"
)

// authorizeKey returns why a host with a valid certificate for this key is not believed; nil when it is. A host is known by the key that
// it was admitted with: a certificate alone proves no more than that somebody had the key of the CA once. An agent knows the keys of
// servers and of some others, and takes only hosts that it knows for servers (checkServer).
func (a peerAPI) authorizeKey(hostID, key, protocol string) error {
	if own := a.m.localServer(); own != nil && a.keyOf(hostID) == "" {
		return fmt.Errorf("host %s was not admitted to the pool, as far as this server knows", hostID)
	}
	return a.authorizeAny(hostID, key, protocol)
}

// keyOf is the hash of the key that a host was admitted with, as this host's server has it or another one last said; empty when
// neither knows.
func (a peerAPI) keyOf(hostID string) string {
	if own := a.m.localServer(); own != nil {
		if admission := own.state.View().Admission(hostID); admission != nil {
			return admission.PublicKeyHash
		}
	}
	return a.m.poolCache.Key(hostID)
}

// authorizeAny is authorizeKey for a question that is answered with the signature of the CA: a host that this one does not know may
// answer it too, as when the pool was restored on another machine.
func (a peerAPI) authorizeAny(hostID, key, _ string) error {
	if known := a.keyOf(hostID); known == "" || known == key {
		return nil
	}
	if a.m.refused.first(hostID, "key") {
		a.m.log.Warn("a host shows a certificate for a key that it was not admitted with, and is refused each time: if this host is not new, "+
			"somebody may have the key of the CA", "id", hostID)
	}
	return fmt.Errorf("host %s was not admitted to the pool with the key that it shows", hostID)
}

// authorizePeer returns why a host with a valid certificate may not connect to this one; nil when it may. Removed hosts are
// refused. Raft is for servers: an agent that speaks it could alter the pool's decisions. A server that missed that all others were
// exchanged learns of them through its agent, see FindServers.
func (a peerAPI) authorizePeer(hostID, key, protocol string) error {
	if !a.isMemberHost(hostID) {
		return spec.Removed(hostID)
	}
	if err := a.authorizeKey(hostID, key, protocol); err != nil {
		return err
	}
	own := a.m.localServer()
	if protocol != peer.Raft || own == nil || a.isKnownServer(hostID) {
		return nil
	}
	if a.m.refused.first(hostID, "protocol") {
		a.m.log.Warn("a host that is no server wants to speak Raft with this one, and is turned away each time", "id", hostID)
	}
	return fmt.Errorf("host %s is no server of the pool", hostID)
}
