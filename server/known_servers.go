package server

import (
	"context"
	"fmt"
	"reflect"

	"pinion/raftfsm/spec"
	"pinion/server/membership"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// isKnownServer reports whether a host is one of the pool's servers: as the leader has it, and on any other host as that last learned
// from a server or by the signature of the CA too. A server that was away may have missed that all others were exchanged.
func (a peerAPI) isKnownServer(hostID string) bool {
	own := a.m.localServer()
	switch {
	case own != nil && own.servers.IsServer(hostID):
		return true
	case own != nil && own.Leads():
		return false
	}
	return a.m.poolCache.IsServer(hostID)
}

// checkServer refuses to take a host for a server that is none. An agent at the address of a server could otherwise lead this host away
// from its pool, and give it work.
func (a peerAPI) checkServer(hostID string) error {
	if a.isKnownServer(hostID) {
		return nil
	}
	return fmt.Errorf("host %s answers there, which this host does not know as a server of the pool", hostID)
}

// handlePoolInfo tells another host what this one knows of the pool.
func (a peerAPI) handlePoolInfo(context.Context, string, struct{}) (spec.PoolInfo, error) {
	return a.m.poolCache.PoolInfo(), nil
}

// verifyWith returns how to verify what the CA of this host's pool has signed and who tells it has told these roots with it.
func (m *Member) verifyWith(roots spec.CARoots) func(text, signature []byte) bool {
	return func(text, signature []byte) bool { return pki.VerifyText(m.cfg.Identity, text, signature, roots) }
}

// FindServers asks the hosts that this one knows who the servers of the pool are, and believes what the CA has signed. It reports whether
// that is news.
func (h sessionHost) FindServers(ctx context.Context) bool {
	anyHost := &rpc.Client{HTTP: h.m.anyHost}
	for _, address := range h.m.poolCache.Peers(h.m.cfg.Address) {
		var told spec.PoolInfo
		if anyHost.Call(ctx, address, membership.PathPoolInfo, struct{}{}, &told) != nil {
			continue
		}
		before := h.m.poolCache.PoolInfo()
		if proven, ok := h.m.poolCache.Proven(told, h.m.verifyWith(told.CA)); ok && !reflect.DeepEqual(before, proven) {
			h.updatePoolInfo(proven, nil)
			return true
		}
	}
	return false
}

// CheckIncarnation fails when the other host knows of a recovery that this one does not know. What an agent says ends no server: the
// recovery is proved by what the pool's CA has signed since.
func (h sessionHost) CheckIncarnation(incarnation int, proof *spec.PoolInfo) error {
	mine := h.m.poolCache.Incarnation()
	if incarnation <= mine {
		return nil
	}
	if proof != nil && proof.Incarnation == incarnation {
		if _, ok := h.m.poolCache.Proven(*proof, h.m.verifyWith(proof.CA)); ok {
			return h.checkIncarnation(incarnation)
		}
	}
	h.m.log.Warn("a host says that the pool was recovered and cannot prove it: it is not heard", "incarnation", incarnation, "here", mine)
	return fmt.Errorf("%w: incarnation %d is here, and nothing that a server has signed proves %d", spec.ErrOutdated, mine, incarnation)
}

// checkIncarnation compares incarnations with a server of the pool, or one that was proved. The newer one wins: a server here is then
// from before the recovery.
func (h sessionHost) checkIncarnation(incarnation int) error {
	mine := h.m.poolCache.Incarnation()
	if incarnation <= mine {
		return nil
	}
	if own := h.m.localServer(); own != nil {
		h.m.loops.Go(func() { roleFollower(h).setServerAside(own) })
	}
	return fmt.Errorf("%w: incarnation %d is here, %d there", spec.ErrOutdated, mine, incarnation)
}
