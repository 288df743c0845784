package membership

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	autopilot "github.com/hashicorp/raft-autopilot"

	"pinion/raftfsm"
)

// Autopilot watches the health of Raft's servers, and gives and takes votes. Which hosts ought to vote is recorded by
// chooseServers (Host.Server); the promoter below only turns that into votes: never more of them than wanted, and never an
// even number.

const (
	healthInterval       = time.Second
	promotionInterval    = 500 * time.Millisecond
	stabilizationTime    = 500 * time.Millisecond
	lastContactThreshold = 2 * time.Second
	maxTrailingLogs      = 2000
)

// voteReconciler has autopilot run while a vote is to be given or taken.
type voteReconciler struct {
	servers *Servers
	running *autopilot.Autopilot // nil while no vote is
}

// reconcile starts or stops autopilot for the term of ctx.
func (v *voteReconciler) reconcile(ctx context.Context) {
	switch {
	case v.converged():
		v.stop()
	case v.running == nil:
		v.running = v.servers.startAutopilot(ctx)
	}
}

func (v *voteReconciler) stop() {
	if v.running != nil {
		<-v.running.Stop()
		v.running = nil
	}
}

// converged reports whether no vote is to be given or taken.
func (v *voteReconciler) converged() bool {
	configured := v.servers.Configured()
	for id := range configured {
		if step := v.servers.stateOf(string(id), configured).Next(); step == StepPromote || step == StepDemote {
			return false
		}
	}
	return true
}

// startAutopilot starts autopilot for one term; the caller stops it.
func (s *Servers) startAutopilot(ctx context.Context) *autopilot.Autopilot {
	p := autopilot.New(AutopilotRaft{s.consensus.Raft(), s}, &autopilotDelegate{hostID: s.hostID, view: s.view, configured: s.Configured, heard: s.liveness.Heard, stats: s.FetchStats},
		autopilot.WithPromoter(&cappedPromoter{now: s.consensus.Now}),
		autopilot.WithTimeProvider(s.consensus), // since when a server is healthy
		autopilot.WithLogger(s.raftLog),
		autopilot.WithUpdateInterval(healthInterval),
		autopilot.WithReconcileInterval(promotionInterval),
	)
	p.Start(ctx)
	return p
}

// autopilotDelegate answers autopilot's questions about the pool's servers.
type autopilotDelegate struct {
	hostID     string // of this server, which leads
	view       func() *raftfsm.View
	configured func() map[raft.ServerID]raft.Server // of Raft
	heard      func(hostID string) bool             // lately
	stats      func(ctx context.Context, hostID string) (RaftStats, error)
}

// AutopilotConfig is autopilot's question for its settings. Dead servers are ours to remove.
func (h *autopilotDelegate) AutopilotConfig() *autopilot.Config {
	return &autopilot.Config{LastContactThreshold: lastContactThreshold, MaxTrailingLogs: maxTrailingLogs, ServerStabilizationTime: stabilizationTime}
}

// NotifyState ignores autopilot's view of the servers.
func (h *autopilotDelegate) NotifyState(*autopilot.State) {}

// RemoveFailedServer is never called: CleanupDeadServers is off.
func (h *autopilotDelegate) RemoveFailedServer(*autopilot.Server) {}

// KnownServers are those of Raft's configuration and those that ought to be.
func (h *autopilotDelegate) KnownServers() map[raft.ServerID]*autopilot.Server {
	known, view := make(map[raft.ServerID]*autopilot.Server), h.view()
	hosts := view.Servers()
	for id := range h.configured() {
		if host := view.Host(string(id)); host != nil && !host.Server {
			hosts = append(hosts, host)
		}
	}
	for _, host := range hosts {
		server := &autopilot.Server{
			ID: raft.ServerID(host.ID), Name: host.Name, Address: raft.ServerAddress(host.Address), Version: host.Version,
			NodeStatus: autopilot.NodeAlive, IsLeader: host.ID == h.hostID, Ext: promotionHint{host.Server, host.RegisteredAt},
		}
		if !h.heard(host.ID) {
			server.NodeStatus = autopilot.NodeFailed
		}
		known[server.ID] = server
	}
	return known
}

// FetchServerStats asks the servers of Raft's configuration how far they are.
func (h *autopilotDelegate) FetchServerStats(ctx context.Context, servers map[raft.ServerID]*autopilot.Server) map[raft.ServerID]*autopilot.ServerStats {
	var (
		mu    sync.Mutex
		asked sync.WaitGroup
		all   = make(map[raft.ServerID]*autopilot.ServerStats)
	)
	for id := range h.configured() {
		if servers[id] == nil {
			continue
		}
		asked.Go(func() {
			stats, err := h.stats(ctx, string(id))
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

// promotionHint is attached to each server for the promoter: whether it ought to vote, and since when it is a host.
type promotionHint struct {
	wanted bool
	since  time.Time
}

// cappedPromoter is autopilot's promoter with a limit: the servers that ought to vote, and of them an odd number.
type cappedPromoter struct {
	now   func() time.Time
	began time.Time // when it was asked first
}

// CalculatePromotionsAndDemotions gives votes to the wanted servers that are healthy and takes them from the others,
// both together or neither, so that the number of votes stays odd. The leader keeps its vote until another leads.
func (p *cappedPromoter) CalculatePromotionsAndDemotions(c *autopilot.Config, state *autopilot.State) autopilot.RaftChanges {
	now := p.now()
	stable := p.stabilization(c, now)
	var kept, ready, spare []*autopilot.ServerState
	for _, server := range state.Servers {
		wanted := server.Server.Ext.(promotionHint).wanted
		switch voter := server.HasVotingRights(); {
		case voter && wanted:
			kept = append(kept, server)
		case voter:
			spare = append(spare, server)
		case wanted && server.Health.IsStable(now, stable):
			ready = append(ready, server)
		}
	}
	slices.SortFunc(ready, byAge)
	if (len(kept)+len(ready))%2 == 0 {
		if len(ready) == 0 {
			return autopilot.RaftChanges{} // without the servers that leave the number is even: wait for another server
		}
		ready = ready[:len(ready)-1]
	}
	changes := autopilot.RaftChanges{Promotions: serverIDs(ready)}
	for _, server := range spare {
		if server.State != autopilot.RaftLeader {
			changes.Demotions = append(changes.Demotions, server.Server.ID)
			continue
		}
		changes.Leader = nextLeader(kept)
	}
	return changes
}

// stabilization is for how long a server must have been healthy. While autopilot has not run for so long, nobody can have been: it is zero then.
// autopilot.State.ServerStabilizationTime measures that by the machine's clock.
func (p *cappedPromoter) stabilization(c *autopilot.Config, now time.Time) time.Duration {
	if p.began.IsZero() {
		p.began = now
	}
	if now.Sub(p.began) <= c.ServerStabilizationTime {
		return 0
	}
	return c.ServerStabilizationTime
}

func byAge(a, b *autopilot.ServerState) int {
	return cmp.Or(a.Server.Ext.(promotionHint).since.Compare(b.Server.Ext.(promotionHint).since), cmp.Compare(a.Server.ID, b.Server.ID))
}

func serverIDs(servers []*autopilot.ServerState) []raft.ServerID {
	var all []raft.ServerID
	for _, server := range servers {
		all = append(all, server.Server.ID)
	}
	return all
}

// nextLeader is a healthy voter that may lead; empty when there is none.
func nextLeader(voters []*autopilot.ServerState) raft.ServerID {
	slices.SortFunc(voters, byAge)
	for _, server := range voters {
		if server.Health.Healthy {
			return server.Server.ID
		}
	}
	return ""
}

// GetServerExt keeps what KnownServers gave; a server whose host was removed gets no hint.
func (*cappedPromoter) GetServerExt(_ *autopilot.Config, server *autopilot.ServerState) any {
	if own, ok := server.Server.Ext.(promotionHint); ok && server.Server.NodeStatus != autopilot.NodeLeft {
		return own
	}
	return promotionHint{}
}

// GetStateExt has nothing to add.
func (*cappedPromoter) GetStateExt(*autopilot.Config, *autopilot.State) any { return nil }

// GetNodeTypes calls every server a voter: those that are not wanted leave.
func (*cappedPromoter) GetNodeTypes(_ *autopilot.Config, state *autopilot.State) map[raft.ServerID]autopilot.NodeType {
	types := make(map[raft.ServerID]autopilot.NodeType)
	for id := range state.Servers {
		types[id] = autopilot.NodeVoter
	}
	return types
}

// FilterFailedServerRemovals removes none.
func (*cappedPromoter) FilterFailedServerRemovals(*autopilot.Config, *autopilot.State, *autopilot.FailedServers) *autopilot.FailedServers {
	return &autopilot.FailedServers{}
}

// IsPotentialVoter is true for all of Raft's servers.
func (*cappedPromoter) IsPotentialVoter(autopilot.NodeType) bool { return true }
