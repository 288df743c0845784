package membership

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/loggroup"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/watch"
	"pinion/server/rpc"
)

// poolInfoInterval is how often a server looks whether the pool info has changed; another leader is seen at once.
const poolInfoInterval = 400 * time.Millisecond

// removedRetention is how long hosts remember which hosts were removed: longer than any certificate lives.
const removedRetention = 40 * 24 * time.Hour

// Publisher holds what a server tells hosts of their pool. It is safe for concurrent use.
type Publisher struct {
	pool    string
	servers *Servers
	leader  *rpc.LeaderTracker
	sign    func(text []byte) ([]byte, error)
	info    atomic.Pointer[spec.PoolInfo]
	changed watch.Signal

	mu         sync.Mutex
	signedText []byte // and the root that signed it
	signed     []byte // the signature
	list       []byte // the servers as they were last built, and the newest root
	index      uint64 // when they were first so
}

// NewPublisher returns the publisher of a server of the pool; Run keeps it up to date. sign signs with the key of the pool's CA.
func NewPublisher(pool string, servers *Servers, leader *rpc.LeaderTracker, sign func(text []byte) ([]byte, error)) *Publisher {
	return &Publisher{pool: pool, servers: servers, leader: leader, sign: sign}
}

// PoolInfo is what hosts are told now; nil in the first moment. Another value is another pointer.
func (p *Publisher) PoolInfo() *spec.PoolInfo { return p.info.Load() }

// PoolInfoChanged returns a channel that is closed when PoolInfo changes.
func (p *Publisher) PoolInfoChanged() <-chan struct{} { return p.changed.Wait() }

// Run follows the state, Raft's configuration and the leader until ctx ends.
func (p *Publisher) Run(ctx context.Context) {
	tick := tick.New(poolInfoInterval)
	defer tick.Stop()
	for {
		leaderChanged := p.leader.Changed()
		now := p.Build()
		before := p.info.Load()
		if before != nil && slices.Equal(before.Removed, now.Removed) {
			now.Removed = before.Removed // one slice: sessions see without a comparison that it has not changed
		}
		if before == nil || !reflect.DeepEqual(*before, now) {
			p.info.Store(&now)
			p.changed.Notify()
		}
		select {
		case <-tick.C:
		case <-leaderChanged:
		case <-ctx.Done():
			return
		}
	}
}

// Build is the pool info as it is in this moment.
func (p *Publisher) Build() spec.PoolInfo {
	view := p.servers.view()
	o := spec.PoolInfo{Pool: p.pool, Incarnation: view.Settings().Incarnation}
	o.Leader, _ = p.leader.Leader()
	for id, server := range p.servers.Configured() { // one that has no vote yet may lag far behind
		if server.Suffrage != raft.Voter {
			continue
		}
		address := string(server.Address)
		if host := view.Host(string(id)); host != nil {
			address = host.Address
		}
		o.Servers = append(o.Servers, address)
	}
	if o.Leader != "" && !slices.Contains(o.Servers, o.Leader) {
		o.Servers = append(o.Servers, o.Leader)
	}
	slices.Sort(o.Servers)
	o.ServerIDs = serverHostIDs(view, p.servers.Configured())
	others := bootstrapPeers(view, o.Servers)
	for _, host := range others {
		o.Hosts = append(o.Hosts, host.Address)
	}
	o.Keys = keysOf(view, o.ServerIDs, others)
	if ca := view.CA(); ca != nil {
		o.CA = ca.Roots()
	}
	o.Index = p.indexOf(o, max(view.Index(), p.servers.consensus.Raft().GetConfiguration().Index()))
	o.Signature = p.signature(o)
	o.LogRetention, o.DeletedLogs = logRetentions(view), deletedLogs(view)
	o.Removed = recentlyRemoved(view, p.servers.consensus.Now())
	return o
}

// indexOf is the index of the log at which the servers of a pool info were first seen here, which is now when they are others than before. What
// was built from older entries, on whatever server, has a lower one.
func (p *Publisher) indexOf(o spec.PoolInfo, now uint64) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := append(ServerListText(o), o.CA.Newest...); !bytes.Equal(list, p.list) {
		p.list, p.index = list, now
	}
	return p.index
}

// signature is that of the servers in a pool info; nil while this server cannot read the key of the CA.
func (p *Publisher) signature(o spec.PoolInfo) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := ServerListText(o)
	if by := append(slices.Clone(text), o.CA.Newest...); !bytes.Equal(by, p.signedText) {
		signature, err := p.sign(text)
		if err != nil {
			return nil
		}
		p.signedText, p.signed = by, signature
	}
	return p.signed
}

// serverHostIDs are the hosts that are servers, or are to become one, sorted: those for which Servers.IsServer holds.
func serverHostIDs(view *raftfsm.View, configured map[raft.ServerID]raft.Server) []string {
	var ids []string
	for id := range configured {
		ids = append(ids, string(id))
	}
	for _, host := range view.Servers() {
		ids = append(ids, host.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// maxBootstrapPeers is how many other hosts each host knows to ask where the servers are.
const maxBootstrapPeers = 8

// keysOf are the keys of the servers and of other hosts that this pool info names.
func keysOf(view *raftfsm.View, servers []string, others []*spec.Host) map[string]string {
	keys := map[string]string{}
	add := func(hostID string) {
		if admission := view.Admission(hostID); admission != nil {
			keys[hostID] = admission.PublicKeyHash
		}
	}
	for _, id := range servers {
		add(id)
	}
	for _, host := range others {
		add(host.ID)
	}
	return keys
}

// bootstrapPeers are some hosts that are no servers; hosts that become servers come first.
func bootstrapPeers(view *raftfsm.View, servers []string) []*spec.Host {
	var coming, others []*spec.Host
	for _, host := range view.Hosts("") {
		switch {
		case host.Lost() || slices.Contains(servers, host.Address):
		case host.Server:
			coming = append(coming, host)
		case len(others) < maxBootstrapPeers:
			others = append(others, host)
		}
	}
	return append(coming, others...)
}

func recentlyRemoved(view *raftfsm.View, now time.Time) []string {
	var ids []string
	for _, host := range view.RemovedHosts() {
		if now.Sub(host.At) < removedRetention {
			ids = append(ids, host.ID)
		}
	}
	return ids
}

// logRetentions are the log groups whose logs are kept for another time than the hosts' default, with the days.
func logRetentions(view *raftfsm.View) (days map[string]int) {
	for _, group := range loggroup.All(view) {
		if group.RetentionDays > 0 {
			if days == nil {
				days = map[string]int{}
			}
			days[group.Name] = group.RetentionDays
		}
	}
	return days
}

// deletedLogs are the log groups that were deleted, with the moments.
func deletedLogs(view *raftfsm.View) (moments map[string]int64) {
	for _, group := range loggroup.Deleted(view) {
		if moments == nil {
			moments = map[string]int64{}
		}
		moments[group.Name] = group.DeletedAt.UnixMilli()
	}
	return moments
}
