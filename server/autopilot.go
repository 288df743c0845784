package server

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	autopilot "github.com/hashicorp/raft-autopilot"

	"github.com/hashicorp/raft"
)

// Autopilot watches the health of Raft's servers and gives and takes votes. Which hosts ought to vote is decided in
// steer.go and stands in the state (Host.Server); the promoter below only turns that into votes, never more of them than
// wanted and never to an even number.

const (
	healthPeriod  = time.Second
	votesPeriod   = 500 * time.Millisecond
	stableFor     = 500 * time.Millisecond
	contactWithin = 2 * time.Second
	entriesBehind = 2000
)

// pilot starts autopilot for one term; the caller stops it.
func (s *Server) pilot(t *term) *autopilot.Autopilot {
	p := autopilot.New(ballot{s.raft, s}, &health{s, t},
		autopilot.WithPromoter(&capped{}),
		autopilot.WithLogger(raftLogger(s.log)),
		autopilot.WithUpdateInterval(healthPeriod),
		autopilot.WithReconcileInterval(votesPeriod),
	)
	p.Start(t.ctx)
	return p
}

// raftStats is how far the Raft of a host is. Running is false on a host that is no server.
type raftStats struct {
	Running     bool
	LastContact time.Duration
	LastTerm    uint64
	LastIndex   uint64
}

func (s *Server) stats() raftStats {
	stats := raftStats{Running: true, LastIndex: s.raft.LastIndex(), LastTerm: s.raft.CurrentTerm()}
	if s.raft.State() != raft.Leader {
		stats.LastContact = time.Since(s.raft.LastContact())
	}
	return stats
}

// health tells autopilot what this pool knows of its servers.
type health struct {
	*Server
	term *term
}

// AutopilotConfig is autopilot's question for its settings. Dead servers are ours to remove.
func (h *health) AutopilotConfig() *autopilot.Config {
	return &autopilot.Config{LastContactThreshold: contactWithin, MaxTrailingLogs: entriesBehind, ServerStabilizationTime: stableFor}
}

// NotifyState is told what autopilot thinks.
func (h *health) NotifyState(*autopilot.State) {}

// RemoveFailedServer is never called: CleanupDeadServers is off.
func (h *health) RemoveFailedServer(*autopilot.Server) {}

// KnownServers are those of Raft's configuration and those that ought to be.
func (h *health) KnownServers() map[raft.ServerID]*autopilot.Server {
	known, view := make(map[raft.ServerID]*autopilot.Server), h.state.View()
	hosts := view.Servers()
	for id := range h.configured() {
		if host := view.Host(string(id)); host != nil && !host.Server {
			hosts = append(hosts, host)
		}
	}
	for _, host := range hosts {
		server := &autopilot.Server{
			ID: raft.ServerID(host.ID), Name: host.Name, Address: raft.ServerAddress(host.Address), Version: host.Version,
			NodeStatus: autopilot.NodeAlive, IsLeader: host.ID == h.cfg.HostID, Ext: seat{host.Server, host.RegisteredAt},
		}
		if !h.term.connected(h.cfg, host.ID) {
			server.NodeStatus = autopilot.NodeFailed
		}
		known[server.ID] = server
	}
	return known
}

// FetchServerStats asks the servers of Raft's configuration how far they are.
func (h *health) FetchServerStats(ctx context.Context, servers map[raft.ServerID]*autopilot.Server) map[raft.ServerID]*autopilot.ServerStats {
	var (
		mu    sync.Mutex
		asked sync.WaitGroup
		all   = make(map[raft.ServerID]*autopilot.ServerStats)
	)
	for id, address := range h.configured() {
		if servers[id] == nil {
			continue
		}
		asked.Go(func() {
			stats, err := h.statsOf(ctx, string(id), string(address.Address))
			if err != nil || !stats.Running {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			all[id] = &autopilot.ServerStats{LastContact: stats.LastContact, LastTerm: stats.LastTerm, LastIndex: stats.LastIndex}
		})
	}
	asked.Wait()
	return all
}

func (s *Server) statsOf(ctx context.Context, id, address string) (stats raftStats, err error) {
	if id == s.cfg.HostID {
		return s.stats(), nil
	}
	err = s.cfg.calls.post(ctx, address, pathStats, struct{}{}, &stats)
	return stats, err
}

// configured is Raft's configuration by server.
func (s *Server) configured() map[raft.ServerID]raft.Server {
	all := make(map[raft.ServerID]raft.Server)
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		all[server.ID] = server
	}
	return all
}

// seat is what the promoter has to know of a server: whether it ought to vote, and for how long it has been a host.
type seat struct {
	wanted bool
	since  time.Time
}

// capped is autopilot's promoter with a limit: the servers that ought to vote, and of them an odd number.
type capped struct{}

// CalculatePromotionsAndDemotions gives votes to the wanted servers that are healthy and takes them from the others,
// both together or neither, so that the number of votes stays odd. The leader keeps its vote until another leads.
func (*capped) CalculatePromotionsAndDemotions(c *autopilot.Config, state *autopilot.State) autopilot.RaftChanges {
	var kept, ready, spare []*autopilot.ServerState
	for _, server := range state.Servers {
		wanted := server.Server.Ext.(seat).wanted
		switch voter := server.HasVotingRights(); {
		case voter && wanted:
			kept = append(kept, server)
		case voter:
			spare = append(spare, server)
		case wanted && server.Health.IsStable(time.Now(), state.ServerStabilizationTime(c)):
			ready = append(ready, server)
		}
	}
	slices.SortFunc(ready, older)
	if (len(kept)+len(ready))%2 == 0 {
		if len(ready) == 0 {
			return autopilot.RaftChanges{} // an even number without those that are to go: wait for another to come
		}
		ready = ready[:len(ready)-1]
	}
	changes := autopilot.RaftChanges{Promotions: ids(ready)}
	for _, server := range spare {
		if server.State != autopilot.RaftLeader {
			changes.Demotions = append(changes.Demotions, server.Server.ID)
			continue
		}
		changes.Leader = successor(kept)
	}
	return changes
}

func older(a, b *autopilot.ServerState) int {
	return cmp.Or(a.Server.Ext.(seat).since.Compare(b.Server.Ext.(seat).since), cmp.Compare(a.Server.ID, b.Server.ID))
}

func ids(servers []*autopilot.ServerState) []raft.ServerID {
	var all []raft.ServerID
	for _, server := range servers {
		all = append(all, server.Server.ID)
	}
	return all
}

// successor is a healthy voter that may lead; empty when there is none.
func successor(voters []*autopilot.ServerState) raft.ServerID {
	slices.SortFunc(voters, older)
	for _, server := range voters {
		if server.Health.Healthy {
			return server.Server.ID
		}
	}
	return ""
}

// GetServerExt keeps what KnownServers gave; a server that no host is any more has no seat.
func (*capped) GetServerExt(_ *autopilot.Config, server *autopilot.ServerState) any {
	if own, ok := server.Server.Ext.(seat); ok && server.Server.NodeStatus != autopilot.NodeLeft {
		return own
	}
	return seat{}
}

// GetStateExt has nothing to add.
func (*capped) GetStateExt(*autopilot.Config, *autopilot.State) any { return nil }

// GetNodeTypes calls every server a voter: those that are not wanted leave.
func (*capped) GetNodeTypes(_ *autopilot.Config, state *autopilot.State) map[raft.ServerID]autopilot.NodeType {
	types := make(map[raft.ServerID]autopilot.NodeType)
	for id := range state.Servers {
		types[id] = autopilot.NodeVoter
	}
	return types
}

// FilterFailedServerRemovals removes none.
func (*capped) FilterFailedServerRemovals(*autopilot.Config, *autopilot.State, *autopilot.FailedServers) *autopilot.FailedServers {
	return &autopilot.FailedServers{}
}

// IsPotentialVoter is true for all of Raft's servers.
func (*capped) IsPotentialVoter(autopilot.NodeType) bool { return true }
