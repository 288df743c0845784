// Package membership decides which hosts are servers of the pool and makes them so: it records who ought to be one, moves
// Raft's configuration and the votes there, and tells hosts where their pool is.
package membership

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// Consensus is the Raft node that Servers are part of.
type Consensus interface {
	State() *raftfsm.State
	Now() time.Time
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	CheckLeader(ctx context.Context) error
	Leads() bool
	Raft() *raft.Raft
}

// Liveness knows which hosts the leader hears of.
type Liveness interface {
	Heard(hostID string) bool
	Silence(hostID string) time.Duration
	Connected(hostID string) bool
}

// Servers is the pool's servers as this server sees them: which ought to be (Host.Server), which are in Raft's
// configuration, and which have Raft running. On the leader it changes them. It is safe for concurrent use.
type Servers struct {
	consensus Consensus
	liveness  Liveness
	client    *rpc.Client
	hostID    string // this host
	log       *slog.Logger
	raftLog   hclog.Logger // of autopilot

	// choosing is held while it is recorded who ought to be a server. A change is several entries, and in between there is a server too
	// many, which another change would take back.
	choosing sync.Mutex

	barrier *barrier
}

// NewServers returns the servers as the one on this host sees them; client is nil in a pool of one server.
func NewServers(consensus Consensus, liveness Liveness, client *rpc.Client, hostID string, log *slog.Logger, raftLog hclog.Logger) *Servers {
	return &Servers{consensus: consensus, liveness: liveness, client: client, hostID: hostID, log: log, raftLog: raftLog, barrier: newBarrier(consensus.Raft)}
}

func (s *Servers) view() *raftfsm.View { return s.consensus.State().View() }

// Configured is Raft's configuration by server.
func (s *Servers) Configured() map[raft.ServerID]raft.Server {
	all := make(map[raft.ServerID]raft.Server)
	for _, server := range s.consensus.Raft().GetConfiguration().Configuration().Servers {
		all[server.ID] = server
	}
	return all
}

// OtherServers are the addresses of the servers in Raft's configuration, but for the one whose view s is.
func OtherServers(s *Servers) []string {
	var addresses []string
	for id, server := range s.Configured() {
		if id != raft.ServerID(s.hostID) {
			addresses = append(addresses, string(server.Address))
		}
	}
	return addresses
}

// IsServer reports whether the host is one of the pool's servers, or ought to be.
func (s *Servers) IsServer(hostID string) bool {
	state := s.stateOf(hostID, s.Configured())
	return state.Configured || state.Desired
}

// isVoter reports whether the host has a vote in Raft.
func (s *Servers) isVoter(hostID string) bool {
	server, is := s.Configured()[raft.ServerID(hostID)]
	return is && server.Suffrage == raft.Voter
}

// isSoleVoter reports whether this server is the only voter.
func (s *Servers) isSoleVoter() bool {
	voters := 0
	for _, server := range s.Configured() {
		if server.Suffrage == raft.Voter {
			voters++
		}
	}
	return voters == 1 && s.isVoter(s.hostID)
}

// stateOf is the RoleState of a host, but for whether Raft runs there.
func (s *Servers) stateOf(hostID string, configured map[raft.ServerID]raft.Server) RoleState {
	server, is := configured[raft.ServerID(hostID)]
	host := s.view().Host(hostID)
	return RoleState{Desired: host != nil && host.Server, Configured: is, Voter: is && server.Suffrage == raft.Voter}
}

// PathStats is the path at any host for the progress of its Raft.
const PathStats = "/peer/stats"

// RaftStats is the progress of the Raft of a host. Running is false on a host that is no server.
type RaftStats struct {
	Running     bool
	LastContact time.Duration
	LastTerm    uint64
	LastIndex   uint64
}

// Stats is the progress of the Raft of this host.
func (s *Servers) Stats() RaftStats {
	r := s.consensus.Raft()
	stats := RaftStats{Running: true, LastIndex: r.LastIndex(), LastTerm: r.CurrentTerm()}
	if r.State() != raft.Leader {
		stats.LastContact = time.Since(r.LastContact())
	}
	return stats
}

// StatsHandler tells other hosts how far the Raft of this one is; servers are nil while this host is an agent.
func StatsHandler(servers func() *Servers) rpc.HandlerFunc {
	return rpc.JSON(func(context.Context, string, struct{}) (stats RaftStats, err error) {
		if s := servers(); s != nil {
			stats = s.Stats()
		}
		return stats, nil
	})
}

// FetchStats asks a host by its id: the answer of another host at its address says nothing about this one.
func (s *Servers) FetchStats(ctx context.Context, hostID string) (stats RaftStats, err error) {
	if hostID == s.hostID {
		return s.Stats(), nil
	}
	err = s.client.Call(ctx, hostID, PathStats, struct{}{}, &stats)
	return stats, err
}

// statsTimeout bounds the call for the progress of a host's Raft.
const statsTimeout = time.Second

// hasNoRaftState reports whether the host answers, and has no Raft that remembers anything.
func (s *Servers) hasNoRaftState(ctx context.Context, host *spec.Host) bool {
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	stats, err := s.FetchStats(ctx, host.ID)
	return err == nil && !stats.Running
}

func (s *Servers) isRaftRunning(ctx context.Context, host *spec.Host) bool {
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	stats, err := s.FetchStats(ctx, host.ID)
	return err == nil && stats.Running
}
