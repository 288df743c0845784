package server

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/consensus"
)

// voter is another server of the pool, reduced to its Raft.
type voter struct {
	trans raft.Transport
	state *raftfsm.State
}

func newVoter(t *testing.T, id raft.ServerID, trans raft.Transport) voter {
	t.Helper()
	conf := raft.DefaultConfig()
	conf.LocalID = id
	conf.Logger = consensus.Logger(quiet())
	state, disk := raftfsm.NewState(), raft.NewInmemStore()
	r, err := raft.NewRaft(conf, raftfsm.NewFSM(state), disk, disk, raft.NewInmemSnapshotStore(), trans)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Shutdown().Error() })
	return voter{trans, state}
}

// grow adds n voters to the pool of one server, all connected with each other.
func grow(t *testing.T, s *Server, own *raft.InmemTransport, n int) []*raft.InmemTransport {
	t.Helper()
	transports := []*raft.InmemTransport{own}
	for i := range n {
		id := raft.ServerID(fmt.Sprint("voter-", i))
		address, trans := raft.NewInmemTransport("")
		newVoter(t, id, trans)
		for _, other := range transports {
			other.Connect(address, trans)
			trans.Connect(other.LocalAddr(), other)
		}
		transports = append(transports, trans)
		if err := s.node.Raft().AddVoter(id, address, 0, 0).Error(); err != nil {
			t.Fatal(err)
		}
	}
	return transports[1:]
}

func TestAServerOfSeveralAnswersOnlyWhileTheOthersFollowIt(t *testing.T) {
	cfg := config(t.TempDir())
	address, own := raft.NewInmemTransport("one")
	own.Connect(address, own)
	cfg.Transport = own
	s := start(t, cfg)
	voters := grow(t, s, own, 2)

	if s.node.IsSoleVoter() {
		t.Fatal("three voters count as one")
	}
	if err := create(s, "together"); err != nil {
		t.Fatal(err)
	}
	atOnce(20, func(int) {
		if view(t, s).Cluster("together") == nil {
			t.Error("a read misses an acknowledged change")
		}
	})

	// Cut off, it may not answer: the others may have gone on without it.
	own.DisconnectAll()
	for _, v := range voters {
		v.Disconnect(address)
	}
	if err := create(s, "apart"); !errors.Is(err, spec.ErrOutcomeUnknown) && !errors.Is(err, spec.ErrNotLeader) {
		t.Errorf("a change that nobody else took: %v", err)
	}
	if _, err := s.View(t.Context()); !errors.Is(err, spec.ErrNotLeader) {
		t.Errorf("a read of a server that was left behind: %v", err)
	}
	eventually(t, "the term ends", func() bool { return !s.Leads() })
	if err := s.agents.Heartbeat(t.Context(), hostID, nil); !errors.Is(err, spec.ErrNotLeader) {
		t.Errorf("a heartbeat: %v", err)
	}
	if _, err := s.scheduler.Run(t.Context(), spec.RunRequest{Cluster: spec.DefaultCluster}); !errors.Is(err, spec.ErrNotLeader) {
		t.Errorf("a run: %v", err)
	}
	if s.liveness.Connected(hostID) {
		t.Error("a server that does not lead says that hosts are connected")
	}
}

// stream is a plain TCP stream layer. Raft leaves connections open when it ends; the test closes them.
type stream struct {
	net.Listener
	t *testing.T
}

func (s stream) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", string(to), timeout)
	if err == nil {
		s.t.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

func listen(t *testing.T) raft.Transport {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return consensus.NewTransport(stream{listener, t}, quiet())
}

func TestServersTalkOverAStream(t *testing.T) {
	cfg := config(t.TempDir())
	cfg.Transport = listen(t)
	cfg.Address = string(cfg.Transport.LocalAddr())
	s := start(t, cfg)
	follower := newVoter(t, "voter", listen(t))
	if err := s.node.Raft().AddVoter("voter", follower.trans.LocalAddr(), 0, 0).Error(); err != nil {
		t.Fatal(err)
	}
	if err := create(s, "shared"); err != nil {
		t.Fatal(err)
	}
	if view(t, s).Cluster("shared") == nil {
		t.Error("a read misses an acknowledged change")
	}
	eventually(t, "the other server has the change", func() bool { return follower.state.View().Cluster("shared") != nil })
}
