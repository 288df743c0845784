package consensus

import (
	"errors"
	"os"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
)

// SeedSnapshot makes a Raft directory that holds nothing but a snapshot of the view, for a node to Recover from. Of cfg it
// takes Dir, HostID, Address and Log.
func SeedSnapshot(cfg Config, view *raftfsm.View) error {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return err
	}
	if _, err := checkIdentity(Config{Dir: cfg.Dir, HostID: cfg.HostID, PoolID: view.Pool().ID}); err != nil {
		return err
	}
	snapshots, err := openSnapshots(cfg.Dir, Logger(cfg.Log))
	if err != nil {
		return err
	}
	address, transport := raft.NewInmemTransport(raft.ServerAddress(cfg.Address))
	self := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: raft.ServerID(cfg.HostID), Address: address}}}
	sink, err := snapshots.Create(raft.SnapshotVersionMax, max(1, view.Index()), 1, self, 1, transport)
	if err != nil {
		return err
	}
	if err := view.WriteSnapshot(sink); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}
