package store

import (
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

// disk is a backend in memory that can be full.
type disk struct {
	*raft.InmemStore
	full atomic.Bool
}

func (d *disk) Close() error { return nil }

func (d *disk) StoreLogs(logs []*raft.Log) error {
	if d.full.Load() {
		return unix.ENOSPC
	}
	return d.InmemStore.StoreLogs(logs)
}

func (d *disk) Set(key, value []byte) error {
	if d.full.Load() {
		return unix.ENOSPC
	}
	return d.InmemStore.Set(key, value)
}

// nothing is a state machine that remembers nothing.
type nothing struct{}

func (nothing) Apply(*raft.Log) any                 { return nil }
func (nothing) Snapshot() (raft.FSMSnapshot, error) { return nil, io.EOF }
func (nothing) Restore(io.ReadCloser) error         { return nil }

// lead runs Raft alone on the disk until it leads; leads tells of its coming and going.
func lead(t *testing.T, d *disk) (r *raft.Raft, s *Store, leads chan bool) {
	t.Helper()
	s = newStore(d, Options{Log: slog.New(slog.DiscardHandler), CallTimeout: time.Minute, RetryInterval: time.Millisecond})
	leads = make(chan bool, 8)
	conf := raft.DefaultConfig()
	conf.LocalID = "one"
	conf.LogOutput = io.Discard
	conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout = 20*time.Millisecond, 20*time.Millisecond, 20*time.Millisecond
	conf.NotifyCh = leads
	address, trans := raft.NewInmemTransport("")
	snapshots := raft.NewInmemSnapshotStore()
	first := raft.Configuration{Servers: []raft.Server{{ID: "one", Address: address}}}
	if err := raft.BootstrapCluster(conf, s, s, snapshots, trans, first); err != nil {
		t.Fatal(err)
	}
	r, err := raft.NewRaft(conf, nothing{}, s, s, snapshots, trans)
	if err != nil {
		t.Fatal(err)
	}
	s.OnFatal(func(err error) { t.Errorf("reported %v", err) })
	if !<-leads {
		t.Fatal("lost the leadership before it began")
	}
	return r, s, leads
}

func TestRaftSurvivesAFullDiskAndLeadsAgainWhenThereIsRoom(t *testing.T) {
	d := &disk{InmemStore: raft.NewInmemStore()}
	r, _, leads := lead(t, d)
	d.full.Store(true)
	if err := r.Apply([]byte("x"), 0).Error(); err == nil {
		t.Error("acknowledged on a full disk")
	}
	if <-leads {
		t.Error("it leads although it cannot write")
	}
	d.full.Store(false)
	if !<-leads {
		t.Error("it does not lead again")
	}
	if err := r.Apply([]byte("y"), 0).Error(); err != nil {
		t.Error(err)
	}
	if err := r.Shutdown().Error(); err != nil {
		t.Error(err)
	}
}

func TestRaftEndsWhileItWaitsForRoom(t *testing.T) {
	d := &disk{InmemStore: raft.NewInmemStore()}
	r, s, leads := lead(t, d)
	d.full.Store(true)
	r.Apply([]byte("x"), 0).Error()
	<-leads
	s.Stop()
	if err := r.Shutdown().Error(); err != nil {
		t.Error(err)
	}
}
