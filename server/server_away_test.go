package server

import (
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/server/consensus"
	"pinion/server/peer"
)

// callAsLeader has a host that is closed say on a new connection to another one that it leads, without any entry of its log.
func callAsLeader(t *testing.T, leader, to *testHost, member *Member, term uint64) error {
	t.Helper()
	dialer := &peer.Dialer{Identity: leader.cfg.Identity, Authorize: member.auth.AuthorizeKey}
	layer := peer.RaftLayer(leader.port, dialer, peer.Address(leader.where))
	network := consensus.NewTransport(&consensus.IncarnationLayer{
		StreamLayer: layer, Pool: member.lifecycle.pool, Starts: member.cfg.Starts, Node: member.server.node, Logged: &member.auth.Logged, Log: quiet(),
	}, quiet())
	defer func() { network.Close(); layer.Close() }()
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(leader.cfg.HostID), Addr: []byte(leader.where)}
	call := &raft.AppendEntriesRequest{RPCHeader: header, Term: term}
	return peer.BindRaft(network).AppendEntries(raft.ServerID(to.cfg.HostID), raft.ServerAddress(to.where), call, new(raft.AppendEntriesResponse))
}

// A server was away while another host joined, became a server and leads. Its own log knows nothing of that host, an agent has told it. It
// hears the new leader, and goes on hearing it while its log is old: it gets the entries in no other way.
func TestAServerThatWasAwayHearsALeaderThatItsLogDoesNotKnow(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	agent := p.join(1)[0]
	away, former := p.followers()[0], p.followers()[1]
	eventually(t, "the server knows the address of the agent, by its own log", func() bool {
		told := away.member.localServer().publisher.PoolInfo()
		return slices.Contains(told.Hosts, agent.where) && slices.Contains(away.member.poolCache.PoolInfo().Hosts, agent.where)
	})
	away.close()
	newcomer := p.join(1)[0]
	eventually(t, "the newcomer is known", func() bool { return p.view().Host(newcomer.cfg.HostID) != nil })
	apply(t, p.leader().member.localServer(), raftfsm.SetServerRole{ID: newcomer.cfg.HostID, Server: true})
	apply(t, p.leader().member.localServer(), raftfsm.SetServerRole{ID: former.cfg.HostID})
	eventually(t, "the agent knows the newcomer for a server, and by the CA's word", func() bool {
		list := agent.member.poolCache.PoolInfo()
		return len(list.Signature) > 0 && slices.Contains(list.ServerIDs, newcomer.cfg.HostID) && !slices.Contains(list.ServerIDs, former.cfg.HostID)
	})
	member := newcomer.member
	for _, h := range p.hosts {
		if h != agent {
			h.close()
		}
	}
	p.start(away)
	knows := func() bool {
		return away.member.poolCache.IsServer(newcomer.cfg.HostID) && away.member.poolCache.Key(newcomer.cfg.HostID) != ""
	}
	eventually(t, "the agent has told", knows)
	term := away.member.localServer().node.Raft().CurrentTerm() + 10
	eventually(t, "the server has heard who leads, and tells hosts so", func() bool {
		if err := callAsLeader(t, newcomer, away, member, term); err != nil {
			t.Fatalf("the new leader is refused: %v", err)
		}
		told := away.member.localServer().publisher.PoolInfo()
		return told != nil && told.Leader == newcomer.where
	})
	away.member.role.ReconcileRole(t.Context())
	if !knows() {
		t.Error("the server took its own old log for news")
	}
	if err := callAsLeader(t, newcomer, away, member, term); err != nil {
		t.Errorf("the new leader is refused after it was heard: %v", err)
	}
}
