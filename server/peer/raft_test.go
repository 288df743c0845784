package peer

import (
	"io"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"pinion/server/pki"
)

// voter is one server of a Raft cluster that speaks through a port.
type voter struct {
	port      *Port
	layer     *raftLayer
	transport *raft.NetworkTransport
	raft      *raft.Raft
	fsm       *raft.MockFSM
}

func newVoter(t *testing.T, id *pki.Identity) *voter {
	t.Helper()
	v := &voter{port: listen(t, id), fsm: new(raft.MockFSM)}
	address := v.port.Addr().String()
	v.layer = RaftLayer(v.port, &Dialer{Identity: id}, Address(address)).(*raftLayer)
	v.transport = raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: v.layer, MaxPool: 3, MaxRPCsInFlight: 1, Timeout: 10 * time.Second, Logger: hclog.NewNullLogger(),
	})
	return v
}

func (v *voter) start(t *testing.T, id string) {
	t.Helper()
	conf := raft.DefaultConfig()
	conf.LocalID, conf.Logger = raft.ServerID(id), hclog.NewNullLogger()
	conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout = 200*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
	var err error
	if v.raft, err = raft.NewRaft(conf, v.fsm, raft.NewInmemStore(), raft.NewInmemStore(), raft.NewInmemSnapshotStore(), BindRaft(v.transport)); err != nil {
		t.Fatal(err)
	}
}

func (v *voter) stop(t *testing.T) {
	t.Helper()
	if err := v.raft.Shutdown().Error(); err != nil {
		t.Error(err)
	}
	if err := v.transport.Close(); err != nil {
		t.Error(err)
	}
	v.layer.mu.Lock()
	defer v.layer.mu.Unlock()
	if len(v.layer.conns) != 0 {
		t.Errorf("%d connections of Raft outlived it", len(v.layer.conns))
	}
}

func TestRaftReplicatesThroughThePort(t *testing.T) {
	pool := newPool(t)
	voters := map[string]*voter{}
	var config raft.Configuration
	for _, id := range []*pki.Identity{pool.first, pool.host("host-2")} {
		v := newVoter(t, id)
		voters[id.HostID()] = v
		config.Servers = append(config.Servers, raft.Server{ID: raft.ServerID(id.HostID()), Address: v.transport.LocalAddr()})
	}
	for id, v := range voters {
		v.start(t, id)
		defer v.stop(t)
	}
	if err := voters["host-1"].raft.BootstrapCluster(config).Error(); err != nil {
		t.Fatal(err)
	}
	leader, other := voters["host-1"], voters["host-2"]
	select {
	case <-leader.raft.LeaderCh():
	case <-other.raft.LeaderCh():
		leader, other = other, leader
	}
	for range 20 {
		if err := leader.raft.Apply([]byte("entry"), 0).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if err := leader.raft.LeadershipTransfer().Error(); err != nil {
		t.Fatal(err)
	}
	<-other.raft.LeaderCh()
	if err := other.raft.Barrier(0).Error(); err != nil {
		t.Fatal(err)
	}
	if got := len(other.fsm.Logs()); got != 20 {
		t.Errorf("the other server has %d of 20 entries", got)
	}
}

func TestARaftLayerThatEndsClosesItsConnectionsOnBothSides(t *testing.T) {
	pool := newPool(t)
	a, b := newVoter(t, pool.first), newVoter(t, pool.host("host-2"))
	b.transport.Close()
	again := RaftLayer(b.port, b.layer.dialer, Address(b.port.Addr().String()))
	defer again.Close()
	c, err := a.layer.Dial(boundAddress("host-2", b.transport.LocalAddr()), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := again.Accept()
	if err != nil {
		t.Fatal(err)
	}
	a.transport.Close()
	if _, err := io.ReadAll(accepted); err != nil {
		t.Errorf("the end did not arrive properly: %v", err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlived its layer")
	}
	if _, err := a.layer.Dial(boundAddress("host-2", b.transport.LocalAddr()), time.Minute); err == nil {
		t.Error("a layer that ended dials")
	}
}

func TestRaftSpeaksToNoOtherHostAtAnAddress(t *testing.T) {
	pool := newPool(t)
	a, b := newVoter(t, pool.first), newVoter(t, pool.host("host-2"))
	defer a.transport.Close()
	defer b.transport.Close()
	here, there := a.transport.LocalAddr(), b.transport.LocalAddr()
	for name, target := range map[string]raft.ServerAddress{
		"another host":    boundAddress("host-3", there),
		"this host":       boundAddress("host-2", here),
		"whoever it is":   there,
		"an id of no one": raft.ServerAddress("@" + there),
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := a.layer.Dial(target, time.Minute); err == nil {
				c.Close()
				t.Errorf("connected to %s", target)
			}
		})
	}
}
