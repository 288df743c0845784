package server

import (
	"reflect"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// poolInfoInterval is how often a server looks whether the outlook has changed; another leader is seen at once.
const poolInfoInterval = 500 * time.Millisecond

// removedRetention is how long hosts remember who was removed: longer than any certificate lives.
const removedRetention = 40 * 24 * time.Hour

// watchPoolInfo keeps s.outlook as it is, and fires s.looked when it changes.
func (s *Server) watchPoolInfo() {
	tick := time.NewTicker(poolInfoInterval)
	defer tick.Stop()
	for {
		moved := s.leader.Changed()
		now := s.buildPoolInfo()
		before := s.poolInfo.Load()
		if before != nil && slices.Equal(before.Removed, now.Removed) {
			now.Removed = before.Removed // one slice: sessions see without a comparison that it has not changed
		}
		if before == nil || !reflect.DeepEqual(*before, now) {
			s.poolInfo.Store(&now)
			s.poolInfoChanged.Notify()
		}
		select {
		case <-tick.C:
		case <-moved:
		case <-s.life.Done():
			return
		}
	}
}

func (s *Server) buildPoolInfo() spec.PoolInfo {
	view := s.state.View()
	o := spec.PoolInfo{Pool: s.cfg.PoolID, Incarnation: view.Settings().Incarnation}
	o.Leader, _ = s.Leader()
	for id, server := range s.raftServers() { // one that has no vote yet may lag far behind
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
	o.Hosts = bootstrapPeers(view, o.Servers)
	o.Removed = recentlyRemoved(view, s.cfg.Now())
	return o
}

// maxBootstrapPeers is how many other hosts each host can ask where the servers are.
const maxBootstrapPeers = 8

// bootstrapPeers are some hosts that are not among the servers, those first that are to become servers.
func bootstrapPeers(view *raftfsm.View, servers []string) []string {
	var coming, others []string
	for _, host := range view.Hosts("") {
		switch {
		case host.Lost() || slices.Contains(servers, host.Address):
		case host.Server:
			coming = append(coming, host.Address)
		case len(others) < maxBootstrapPeers:
			others = append(others, host.Address)
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
