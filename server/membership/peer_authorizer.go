package membership

import (
	"fmt"
	"log/slog"

	"pinion/raftfsm/spec"
	"pinion/server/peer"
)

// PeerAuthorizer decides which hosts this one believes, by the state of the server here and by what other servers have told this host. It is safe
// for concurrent use.
type PeerAuthorizer struct {
	Servers func() *Servers // of the server here; nil while this host is an agent
	Cache   *PoolCache
	Log     *slog.Logger
	Logged  peer.RefusalLog // which hosts the log names that are refused
}

// AuthorizeKey returns why a host with a valid certificate for this key is not believed; nil when it is. A host is known by the key that
// it was admitted with: a certificate alone proves no more than that somebody had the key of the CA once. An agent knows the keys of
// servers and of some others, and takes only hosts that it knows for servers (CheckServer).
func (a *PeerAuthorizer) AuthorizeKey(hostID, key, protocol string) error {
	if own := a.Servers(); own != nil && a.keyOf(hostID) == "" {
		return fmt.Errorf("host %s was not admitted to the pool, as far as this server knows", hostID)
	}
	return a.AuthorizeAny(hostID, key, protocol)
}

// keyOf is the hash of the key that a host was admitted with, as this host's server has it or another one last said; empty when
// neither knows.
func (a *PeerAuthorizer) keyOf(hostID string) string {
	if own := a.Servers(); own != nil {
		if admission := own.view().Admission(hostID); admission != nil {
			return admission.PublicKeyHash
		}
	}
	return a.Cache.Key(hostID)
}

// AuthorizeAny is AuthorizeKey for a question that is answered with the signature of the CA: a host that this one does not know may
// answer it too, as when the pool was restored on another machine.
func (a *PeerAuthorizer) AuthorizeAny(hostID, key, _ string) error {
	if known := a.keyOf(hostID); known == "" || known == key {
		return nil
	}
	if a.Logged.First(hostID, "key") {
		a.Log.Warn("a host shows a certificate for a key that it was not admitted with, and is refused each time: if this host is not new, "+
			"somebody may have the key of the CA", "hostId", hostID)
	}
	return fmt.Errorf("host %s was not admitted to the pool with the key that it shows", hostID)
}

// AuthorizePeer returns why a host with a valid certificate may not connect to this one; nil when it may. Removed hosts are
// refused. Raft is for servers: an agent that speaks it could alter the pool's decisions. A server that missed that all others were
// exchanged learns of them through its agent, see FindServers.
func (a *PeerAuthorizer) AuthorizePeer(hostID, key, protocol string) error {
	if !a.IsMember(hostID) {
		return spec.Removed(hostID)
	}
	if err := a.AuthorizeKey(hostID, key, protocol); err != nil {
		return err
	}
	own := a.Servers()
	if protocol != peer.Raft || own == nil || a.isKnownServer(hostID) {
		return nil
	}
	if a.Logged.First(hostID, "protocol") {
		a.Log.Warn("a host that is no server wants to speak Raft with this one, and is turned away each time", "hostId", hostID)
	}
	return fmt.Errorf("host %s is no server of the pool", hostID)
}

// IsMember reports whether the host still belongs to the pool.
func (a *PeerAuthorizer) IsMember(hostID string) bool {
	if own := a.Servers(); own != nil && own.view().Removed(hostID) {
		return false
	}
	return !a.Cache.IsRemoved(hostID)
}

// IsServer reports whether a host is one of the pool's servers: as this server has it, or as one last told this agent.
func (a *PeerAuthorizer) IsServer(hostID string) bool {
	if own := a.Servers(); own != nil {
		return own.IsServer(hostID)
	}
	return a.Cache.IsServer(hostID)
}

// isKnownServer reports whether a host is one of the pool's servers: as the leader has it, and on any other host as that last learned
// from a server or by the signature of the CA too. A server that was away may have missed that all others were exchanged.
func (a *PeerAuthorizer) isKnownServer(hostID string) bool {
	own := a.Servers()
	switch {
	case own != nil && own.IsServer(hostID):
		return true
	case own != nil && own.consensus.Leads():
		return false
	}
	return a.Cache.IsServer(hostID)
}

// CheckServer refuses to take a host for a server that is none. An agent at the address of a server could otherwise lead this host away
// from its pool, and give it work.
func (a *PeerAuthorizer) CheckServer(hostID string) error {
	if a.isKnownServer(hostID) {
		return nil
	}
	return fmt.Errorf("host %s answers there, which this host does not know as a server of the pool", hostID)
}

// AddressOf returns the address of a host from the local server's state; empty when unknown.
func (a *PeerAuthorizer) AddressOf(hostID string) string {
	if own := a.Servers(); own != nil {
		if host := own.view().Host(hostID); host != nil {
			return host.Address
		}
	}
	return ""
}
