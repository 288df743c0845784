package server

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
)

func TestOnlyARefusalProvesThatNobodyListens(t *testing.T) {
	s := start(t, config(t.TempDir()))
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	open, closed, closing := listen(), listen(), listen()
	defer open.Close()
	closed.Close()
	go func() { // as a process that ends: its connections are gone before its port is
		if c, err := closing.Accept(); err == nil {
			c.Close()
		}
		closing.Close()
	}()
	for _, c := range []struct {
		name, address string
		want          bool
	}{
		{"a port that nobody has", closed.Addr().String(), true},
		{"one that is closed in this moment", closing.Addr().String(), true},
		{"one that somebody has, whether it answers or not", open.Addr().String(), false},
		{"an address that does not exist", "nobody.invalid:7400", false},
	} {
		if got := s.portRefused(raft.ServerAddress(c.address)); got != c.want {
			t.Errorf("%s: refused %t", c.name, got)
		}
	}
}

func TestVotersTakeTurnsAtSucceedingTheLeader(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	leader := p.leader()
	id := raft.ServerID(leader.cfg.HostID)
	ranks := map[int]bool{}
	for _, h := range p.followers() {
		eventually(t, "the follower knows the voters", func() bool { return h.member.localServer().voterRank(id) >= 0 })
		ranks[h.member.localServer().voterRank(id)] = true
	}
	if !ranks[0] || !ranks[1] {
		t.Errorf("the ranks of the two others: %v", ranks)
	}
	own := p.followers()[0].member.localServer()
	now, ok := own.currentLeader()
	if !ok || now.leader != id {
		t.Fatalf("it follows %+v", now)
	}
	if !own.awaitSlot(now, 0) {
		t.Error("the first does not take its turn at once")
	}
	earlier := now
	earlier.term--
	if own.awaitSlot(earlier, 1) {
		t.Error("it would end a reign that it does not mean")
	}
	if _, ok := leader.member.localServer().currentLeader(); ok {
		t.Error("the leader follows itself")
	}
}

// A server that was started again is asked for its vote over a connection of before.
func TestARequestToAServerThatWasStartedAgainIsHeard(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	asking, other := p.followers()[0], p.followers()[1]
	ask := func() error {
		transport := asking.member.localServer().cfg.Transport
		request := raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}} // of no term: it changes nothing
		return transport.AppendEntries(raft.ServerID(other.cfg.HostID), raft.ServerAddress(other.where), &request, &raft.AppendEntriesResponse{})
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	other.close()
	if err := ask(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("while it is down: %v", err)
	}
	if err := other.start(); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	other.close()
	if err := other.start(); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Errorf("after it was started again: %v", err)
	}
}

func TestTheEndOfAConnectionIsNoError(t *testing.T) {
	var said strings.Builder
	logger := raftLogger(slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn})))
	for _, over := range []error{net.ErrClosed, &net.OpError{Op: "read", Err: syscall.ECONNRESET}, raft.ErrTransportShutdown} {
		logger.Error("failed to decode incoming command", "error", over)
		logger.Error("failed to flush response", "error", over)
	}
	if said.Len() > 0 {
		t.Errorf("said %s", said.String())
	}
	logger.Error("failed to decode incoming command", "error", errors.New("unknown rpc type 7"))
	logger.Error("failed to make requestVote RPC", "error", io.EOF)
	if got := said.String(); strings.Count(got, "level=ERROR") != 2 || !strings.Contains(got, "unknown rpc type 7") {
		t.Errorf("said %q", got)
	}
}
