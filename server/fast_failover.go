package server

import (
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// Raft knows a leader that is gone by its silence, which takes it a second. When only the leader's process has ended,
// the kernel under it says so at once: its connections break, and its port refuses new ones. A refusal proves that
// nobody leads there; anything else proves nothing and is left to Raft's silence.

const (
	// A process that ends closes its connections and its port one after the other, so the port is looked at again.
	portProbes        = 3
	portProbeInterval = 25 * time.Millisecond
	portProbeTimeout  = time.Second
	// campaignStagger is how long the election of one voter may take before the next voter calls one.
	campaignStagger = 150 * time.Millisecond
)

// leaderEpoch is one leader during one term.
type leaderEpoch struct {
	leader  raft.ServerID
	address raft.ServerAddress
	term    uint64
}

// raftConnClosed is told that a Raft connection which another server had opened is over. It never waits.
func (s *Server) raftConnClosed() {
	select {
	case s.connClosedCh <- struct{}{}:
	default:
	}
}

// raftConnClosed is Server.linkEnded.
func (m *Member) raftConnClosed() {
	if own := m.localServer(); own != nil {
		own.raftConnClosed()
	}
}

// fastFailoverLoop calls an election when the leader's process has ended: once for each reign, so that one who is refused for
// another reason, such as a firewall that answers for the leader, disturbs a pool that is well once and never again.
func (s *Server) fastFailoverLoop() {
	var handled leaderEpoch
	for {
		select {
		case <-s.connClosedCh:
		case <-s.life.Done():
			return
		}
		if now, ok := s.currentLeader(); ok && now != handled && s.portRefused(now.address) {
			handled = now
			s.campaign(now)
		}
	}
}

// currentLeader is the reign that this server believes in, if that is another's.
func (s *Server) currentLeader() (leaderEpoch, bool) {
	address, id := s.raft.LeaderWithID()
	return leaderEpoch{id, address, s.raft.CurrentTerm()}, id != "" && id != raft.ServerID(s.cfg.HostID)
}

// portRefused reports whether nobody listens at the address, by the word of the machine there.
func (s *Server) portRefused(address raft.ServerAddress) bool {
	ctx, cancel := context.WithTimeout(s.life, portProbeTimeout)
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

// campaign calls an election when it is this server's turn. A voter whose log is behind cannot win its turn; the next one
// can.
func (s *Server) campaign(lost leaderEpoch) {
	rank := s.voterRank(lost.leader)
	if rank < 0 || !s.awaitSlot(lost, rank) {
		return
	}
	s.log.Info("the leader's process has ended, this server calls an election", "leader", lost.leader, "term", lost.term)
	s.campaignNow()
}

// awaitSlot returns when it is the turn of this rank, false when somebody leads or more elections were called by then
// than there were turns before. An election that is under way gets the whole of its time, which it needs on a slow disk.
func (s *Server) awaitSlot(lost leaderEpoch, rank int) bool {
	slot, due, term := time.After(time.Duration(rank)*campaignStagger), false, lost.term
	for {
		moved := s.leader.Changed()
		address, id := s.raft.LeaderWithID()
		now := leaderEpoch{id, address, s.raft.CurrentTerm()}
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
		case <-s.life.Done():
			return false
		}
	}
}

// voterRank is this server's place among the voters but for the leader, -1 when it has no vote.
func (s *Server) voterRank(leader raft.ServerID) int {
	var voters []raft.ServerID
	for id, server := range s.servers.Configured() {
		if server.Suffrage == raft.Voter && id != leader {
			voters = append(voters, id)
		}
	}
	slices.Sort(voters)
	return slices.Index(voters, raft.ServerID(s.cfg.HostID))
}

// campaignNow makes this server a candidate at once, as if the leader had handed over to it. It comes by itself, only
// later, when that fails.
func (s *Server) campaignNow() {
	id, address := raft.ServerID(s.cfg.HostID), s.cfg.Transport.LocalAddr()
	now := raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{
		ProtocolVersion: raft.ProtocolVersionMax,
		ID:              []byte(id),
		Addr:            s.cfg.Transport.EncodePeer(id, address),
	}}
	if err := s.cfg.Transport.TimeoutNow(id, address, &now, &raft.TimeoutNowResponse{}); err != nil {
		s.log.Debug("cannot hurry the election, it comes by itself", "error", err)
	}
}
