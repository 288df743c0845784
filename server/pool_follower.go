package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"

	"pinion/raftfsm/spec"
	"pinion/server/dispatch"
	"pinion/server/membership"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// poolFollower takes in what is told of the pool: which hosts are its servers, which were removed, the roots of its CA, and whether it was
// recovered.
type poolFollower struct {
	cfg      MemberConfig
	log      *slog.Logger
	cache    *membership.PoolCache
	server   *localServer
	leader   *rpc.LeaderTracker
	anyHost  *http.Client
	upstream *dispatch.Upstream
	setAside func(*Server) // ends a server from before a recovery, and does not wait for that
}

// updatePoolInfo stores a pool info from this host's own server or from another one. When it has a newer incarnation, this
// host's positions in the old one are reset, and a server of the old one ends.
func (f *poolFollower) updatePoolInfo(o spec.PoolInfo, own *Server) {
	removed := f.cache.PoolInfo().Removed
	accepted, newer, err := f.cache.Update(o)
	if err != nil {
		f.log.Warn("cannot write down where the pool's servers are", "error", err)
	}
	if !accepted {
		return
	}
	if len(o.CA.Newest) > 0 {
		if err := f.cfg.Identity.Roots().Trust(o.CA); err != nil {
			f.log.Error("the roots of the pool's CA that a server tells are not taken over", "error", err)
		}
	}
	if newer {
		f.upstream.ResetIndex()
		if outdated := f.server.Load(); outdated != nil && own == nil {
			f.setAside(outdated)
		}
	}
	f.leader.Refresh()
	for _, id := range o.Removed {
		if !slices.Contains(removed, id) {
			f.cfg.Port.CloseHost(id)
		}
	}
}

// verifyWith returns how to verify what the CA of this host's pool has signed and who tells it has told these roots with it.
func (f *poolFollower) verifyWith(roots spec.CARoots) func(text, signature []byte) bool {
	return func(text, signature []byte) bool { return pki.VerifyText(f.cfg.Identity, text, signature, roots) }
}

// FindServers asks the hosts that this one knows who the servers of the pool are, and believes what the CA has signed. It reports whether
// that is news.
func (f *poolFollower) FindServers(ctx context.Context) bool {
	anyHost := rpc.ToAnyHost(f.anyHost)
	for _, address := range f.cache.Peers(f.cfg.Address) {
		var told spec.PoolInfo
		if anyHost.Call(ctx, address, membership.PathPoolInfo, struct{}{}, &told) != nil {
			continue
		}
		before := f.cache.PoolInfo()
		if proven, ok := f.cache.Proven(told, f.verifyWith(told.CA)); ok && !reflect.DeepEqual(before, proven) {
			f.updatePoolInfo(proven, nil)
			return true
		}
	}
	return false
}

// CheckIncarnation fails when the other host knows of a recovery that this one does not know. What an agent says ends no server: the
// recovery is proved by what the pool's CA has signed since.
func (f *poolFollower) CheckIncarnation(incarnation int, proof *spec.PoolInfo) error {
	mine := f.cache.Incarnation()
	if incarnation <= mine {
		return nil
	}
	if proof != nil && proof.Incarnation == incarnation {
		if _, ok := f.cache.Proven(*proof, f.verifyWith(proof.CA)); ok {
			return f.checkIncarnation(incarnation)
		}
	}
	f.log.Warn("a host says that the pool was recovered and cannot prove it: it is not heard", "incarnation", incarnation, "here", mine)
	return fmt.Errorf("%w: incarnation %d is here, and nothing that a server has signed proves %d", spec.ErrOutdated, mine, incarnation)
}

// checkIncarnation compares incarnations with a server of the pool, or one that was proved. The newer one wins: a server here is then
// from before the recovery.
func (f *poolFollower) checkIncarnation(incarnation int) error {
	mine := f.cache.Incarnation()
	if incarnation <= mine {
		return nil
	}
	if own := f.server.Load(); own != nil {
		f.setAside(own)
	}
	return fmt.Errorf("%w: incarnation %d is here, %d there", spec.ErrOutdated, mine, incarnation)
}
