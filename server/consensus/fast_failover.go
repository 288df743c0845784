package consensus

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"pinion/server/rpc"
)

// Raft detects a dead leader by missing heartbeats, which takes a second. When only the leader's process has ended, its kernel
// reports it at once: connections break, and the port refuses new ones. A refused connection proves that no leader runs
// there; any other result proves nothing and is left to Raft's election timeout.

const (
	// A process closes its connections and its port one after the other as it ends, so the port is probed again.
	portProbes        = 3
	portProbeInterval = 25 * time.Millisecond
	portProbeTimeout  = time.Second
	// campaignStagger is the time for one voter's election before the next voter campaigns.
	campaignStagger = 150 * time.Millisecond
)

// leaderTerm is one leader during one term.
type leaderTerm struct {
	leader  raft.ServerID
	address raft.ServerAddress
	term    uint64
}

// fastFailover starts an election when the leader's process has ended.
type fastFailover struct {
	raft       *raft.Raft
	self       raft.ServerID
	transport  raft.Transport
	leader     *rpc.LeaderTracker
	log        *slog.Logger
	connClosed chan struct{} // a Raft connection from another server has ended
}

// raftConnClosed reports that a Raft connection from another server has ended. It never blocks.
func (n *Node) raftConnClosed() {
	select {
	case n.failover.connClosed <- struct{}{}:
	default:
	}
}

// loop campaigns when the leader's process has ended, at most once per leader term: a connection refused for another reason,
// such as by a firewall, disturbs a healthy pool only once. It ends with ctx.
func (f *fastFailover) loop(ctx context.Context) {
	var handled leaderTerm
	for {
		select {
		case <-f.connClosed:
		case <-ctx.Done():
			return
		}
		if now, ok := f.currentLeader(); ok && now != handled && f.portRefused(ctx, now.address) {
			handled = now
			f.campaign(ctx, now)
		}
	}
}

// currentLeader returns the leader term as this server knows it; false when it leads itself or knows no leader.
func (f *fastFailover) currentLeader() (leaderTerm, bool) {
	address, id := f.raft.LeaderWithID()
	return leaderTerm{id, address, f.raft.CurrentTerm()}, id != "" && id != f.self
}

// portRefused reports whether the machine at the address refuses the connection because nothing listens there.
func (f *fastFailover) portRefused(ctx context.Context, address raft.ServerAddress) bool {
	ctx, cancel := context.WithTimeout(ctx, portProbeTimeout)
	defer cancel()
	for probe := 1; ; probe++ {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", string(address))
		if err != nil {
			return errors.Is(err, syscall.ECONNREFUSED)
		}
		c.Close()
		if probe == portProbes {
			return false
		}
		select {
		case <-time.After(portProbeInterval):
		case <-ctx.Done():
			return false
		}
	}
}

// campaign starts an election when it is this server's turn. A voter whose log is behind cannot win; the next one can.
func (f *fastFailover) campaign(ctx context.Context, lost leaderTerm) {
	rank := f.voterRank(lost.leader)
	if rank < 0 || !f.awaitSlot(ctx, lost, rank) {
		return
	}
	f.log.Info("the leader's process has ended, this server calls an election", "leader", lost.leader, "term", lost.term)
	f.campaignNow()
}

// awaitSlot waits for the turn of this rank. It returns false when a leader exists, or when more elections were started than
// there were earlier turns. A running election gets its full time, which it needs on a slow disk.
func (f *fastFailover) awaitSlot(ctx context.Context, lost leaderTerm, rank int) bool {
	slot, due, term := time.After(time.Duration(rank)*campaignStagger), false, lost.term
	for {
		moved := f.leader.Changed()
		address, id := f.raft.LeaderWithID()
		now := leaderTerm{id, address, f.raft.CurrentTerm()}
		switch {
		case id != "" && now != lost, now.term > lost.term+uint64(rank):
			return false
		case now.term > term:
			slot, due, term = time.After(campaignStagger), false, now.term
		case due:
			return true
		}
		select {
		case <-slot:
			due = true
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// voterRank returns this server's rank among the voters without the leader; -1 when it has no vote.
func (f *fastFailover) voterRank(leader raft.ServerID) int {
	var voters []raft.ServerID
	for id, server := range servers(f.raft) {
		if server.Suffrage == raft.Voter && id != leader {
			voters = append(voters, id)
		}
	}
	slices.Sort(voters)
	return slices.Index(voters, f.self)
}

// campaignNow makes this server a candidate at once, as a leadership transfer does. When that fails, Raft's election timeout
// does the same later.
func (f *fastFailover) campaignNow() {
	id, address := f.self, f.transport.LocalAddr()
	now := raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{
		ProtocolVersion: raft.ProtocolVersionMax,
		ID:              []byte(id),
		Addr:            f.transport.EncodePeer(id, address),
	}}
	if err := f.transport.TimeoutNow(id, address, &now, &raft.TimeoutNowResponse{}); err != nil {
		f.log.Debug("cannot hurry the election, it comes by itself", "error", err)
	}
}
