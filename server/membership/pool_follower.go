package membership

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"

	"pinion/raftfsm/spec"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// PoolFollower takes in what is told of the pool: which hosts are its servers, which were removed, the roots of its CA, and whether it was
// recovered.
type PoolFollower struct {
	Cache    *PoolCache
	Identity *pki.Identity // of this host
	Address  string        // of this host
	Leader   *rpc.LeaderTracker
	AnyHost  *rpc.Client // reaches any host of the pool, whose word alone counts for nothing
	Log      *slog.Logger

	// CloseHost ends the connections of a host that was removed.
	CloseHost func(hostID string)
	// Recovered is called when the pool was recovered: what this host knew of its log is void.
	Recovered func()
	// SetServerAside ends the server here, if there is one: it is from before a recovery. It does not wait for that.
	SetServerAside func()
}

// UpdatePoolInfo stores a pool info. When it has a newer incarnation, this host's positions in the old one are reset, and a server of the old one
// ends; own says that the server here has built it, which is of the newer one then.
func (f *PoolFollower) UpdatePoolInfo(o spec.PoolInfo, own bool) {
	removed := f.Cache.PoolInfo().Removed
	accepted, newer, err := f.Cache.Update(o)
	if err != nil {
		f.Log.Warn("cannot write down where the pool's servers are", "error", err)
	}
	if !accepted {
		return
	}
	if len(o.CA.Newest) > 0 {
		if err := f.Identity.Roots().Trust(o.CA); err != nil {
			f.Log.Error("the roots of the pool's CA that a server tells are not taken over", "error", err)
		}
	}
	if newer {
		f.Recovered()
		if !own {
			f.SetServerAside()
		}
	}
	f.Leader.Refresh()
	for _, id := range o.Removed {
		if !slices.Contains(removed, id) {
			f.CloseHost(id)
		}
	}
}

// IsSigned reports whether the CA of this host's pool has signed which hosts are the servers in a pool info.
func (f *PoolFollower) IsSigned(o spec.PoolInfo) bool {
	return pki.VerifyText(f.Identity, ServerListText(o), o.Signature, o.CA)
}

// VerifiedPoolInfo is PoolCache.VerifiedPoolInfo of this host, with what the CA of its pool has signed.
func (f *PoolFollower) VerifiedPoolInfo(o spec.PoolInfo) (info spec.PoolInfo, ok bool) {
	return f.Cache.VerifiedPoolInfo(o, func(text, signature []byte) bool { return pki.VerifyText(f.Identity, text, signature, o.CA) })
}

// FindServers asks the hosts that this one knows who the servers of the pool are, and believes what the CA has signed. It reports whether
// that is news.
func (f *PoolFollower) FindServers(ctx context.Context) bool {
	for _, address := range f.Cache.Peers(f.Address) {
		var told spec.PoolInfo
		if f.AnyHost.Call(ctx, address, PathPoolInfo, struct{}{}, &told) != nil {
			continue
		}
		before := f.Cache.PoolInfo()
		if proven, ok := f.VerifiedPoolInfo(told); ok && !reflect.DeepEqual(before, proven) {
			f.UpdatePoolInfo(proven, false)
			return true
		}
	}
	return false
}

// CheckIncarnation fails when the other host knows of a recovery that this one does not know. What an agent says ends no server: the
// recovery is proved by what the pool's CA has signed since.
func (f *PoolFollower) CheckIncarnation(incarnation int, proof *spec.PoolInfo) error {
	mine := f.Cache.Incarnation()
	if incarnation <= mine {
		return nil
	}
	if proof != nil && proof.Incarnation == incarnation {
		if _, ok := f.VerifiedPoolInfo(*proof); ok {
			return f.CheckServerIncarnation(incarnation)
		}
	}
	f.Log.Warn("a host says that the pool was recovered and cannot prove it: it is not heard", "claimed", incarnation, "incarnation", mine)
	return fmt.Errorf("%w: incarnation %d is here, and nothing that a server has signed proves %d", spec.ErrOutdated, mine, incarnation)
}

// CheckServerIncarnation compares incarnations with a server of the pool, or one that was proved. The newer one wins: a server here is then
// from before the recovery.
func (f *PoolFollower) CheckServerIncarnation(incarnation int) error {
	mine := f.Cache.Incarnation()
	if incarnation <= mine {
		return nil
	}
	f.SetServerAside()
	return fmt.Errorf("%w: incarnation %d is here, %d there", spec.ErrOutdated, mine, incarnation)
}

// Incarnation is the newest incarnation of the pool that this host has seen.
func (f *PoolFollower) Incarnation() int { return f.Cache.Incarnation() }
