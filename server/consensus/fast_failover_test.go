package consensus

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
	n := start(t, config(t.TempDir()))
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
		if got := n.failover.portRefused(t.Context(), raft.ServerAddress(c.address)); got != c.want {
			t.Errorf("%s: refused %t", c.name, got)
		}
	}
}

func TestVotersCampaignInTurn(t *testing.T) {
	nodes := startGroup(t, 3)
	leader := raft.ServerID(nodes[0].cfg.HostID)
	ranks := map[int]bool{}
	for _, n := range nodes[1:] {
		eventually(t, "the follower knows the voters and the leader", func() bool {
			_, follows := n.failover.currentLeader()
			return follows && len(servers(n.raft)) == 3
		})
		ranks[n.failover.voterRank(leader)] = true
	}
	if !ranks[0] || !ranks[1] {
		t.Errorf("the ranks of the two others: %v", ranks)
	}
	follower := nodes[1]
	now, ok := follower.failover.currentLeader()
	if !ok || now.leader != leader {
		t.Fatalf("it follows %+v", now)
	}
	if !follower.failover.awaitSlot(t.Context(), now, 0) {
		t.Error("the first does not campaign at once")
	}
	earlier := now
	earlier.term--
	if follower.failover.awaitSlot(t.Context(), earlier, 1) {
		t.Error("it would end a leader term that it does not mean")
	}
	if _, ok := nodes[0].failover.currentLeader(); ok {
		t.Error("the leader follows itself")
	}
}

func TestTheEndOfAConnectionIsNoError(t *testing.T) {
	var said strings.Builder
	logger := Logger(slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn})))
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
