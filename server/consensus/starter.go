package consensus

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/server/store"
)

// starter starts Raft on a directory.
type starter struct {
	cfg      Config
	network  *quiescentTransport
	store    *store.Store
	disk     *diskGuard
	seen     *watermark
	leaderCh chan bool // gets leadership that comes or goes

	snapshots raft.SnapshotStore // of the directory, once it has started
}

// start starts Raft on the store. It begins a pool when nothing was ever recorded.
func (s *starter) start(fsm raft.FSM) (*raft.Raft, error) {
	logger := Logger(s.cfg.Log)
	snapshots, err := openSnapshots(s.cfg.Dir, logger)
	if err != nil {
		return nil, fmt.Errorf("open the snapshots under %s: %w", s.cfg.Dir, err)
	}
	s.snapshots = snapshots
	conf := s.config(logger)
	if !s.cfg.SkipBootstrap {
		if err := s.bootstrap(conf, snapshots); err != nil {
			return nil, err
		}
	}
	if s.cfg.Recover {
		if err := s.recover(conf, snapshots, logger); err != nil {
			return nil, err
		}
	}
	if err := verifySnapshots(filepath.Join(s.cfg.Dir, "snapshots"), snapshots, s.store); err != nil {
		return nil, err
	}
	if err := s.checkWatermark(snapshots); err != nil {
		return nil, err
	}
	r, err := newRaft(conf, fsm, quiescentLog{s.store, s.network}, snapshots, s.network)
	if err != nil {
		return nil, fmt.Errorf("start raft under %s: %w", s.cfg.Dir, err)
	}
	return r, nil
}

// config is the configuration of Raft.
func (s *starter) config(logger hclog.Logger) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(s.cfg.HostID)
	conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout = electionTimeout, electionTimeout, leaderLease
	conf.MaxAppendEntries = maxAppendEntries
	conf.SnapshotThreshold = snapshotThreshold
	conf.TrailingLogs = trailingLogs
	conf.ShutdownOnRemove = false
	conf.NotifyCh = s.leaderCh
	conf.Logger = logger
	conf.NoLegacyTelemetry = true
	return conf
}

// bootstrap writes the first configuration, this server alone, into a log in which nothing was ever recorded. A crash
// in the middle of it leaves a term without a configuration; doing it again completes it.
func (s *starter) bootstrap(conf *raft.Config, snapshots raft.SnapshotStore) error {
	last, err := s.store.LastIndex()
	if err != nil {
		return err
	}
	known, err := snapshots.List()
	if err != nil {
		return fmt.Errorf("list the snapshots under %s: %w", s.cfg.Dir, err)
	}
	if last > 0 || len(known) > 0 {
		return nil
	}
	if err := s.disk.writable(); err != nil {
		return fmt.Errorf("make a new pool: %w", err)
	}
	first := raft.Configuration{Servers: []raft.Server{{
		Suffrage: raft.Voter,
		ID:       conf.LocalID,
		Address:  s.cfg.Transport.LocalAddr(),
	}}}
	err = raft.BootstrapCluster(conf, s.store, s.store, snapshots, s.cfg.Transport, first)
	if errors.Is(err, raft.ErrCantBootstrap) {
		err = s.store.StoreLog(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(first)})
	}
	if err != nil {
		return fmt.Errorf("make a new pool under %s: %w", s.cfg.Dir, err)
	}
	return nil
}

// recover rewrites Raft's configuration to this server alone. It needs a state to go on from.
func (s *starter) recover(conf *raft.Config, snapshots raft.SnapshotStore, logger hclog.Logger) error {
	alone := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: conf.LocalID, Address: s.cfg.Transport.LocalAddr()}}}
	err := raft.RecoverCluster(conf, raftfsm.NewFSM(raftfsm.NewState()), s.store, s.store, snapshots, s.cfg.Transport, alone)
	if err != nil {
		return fmt.Errorf("recover the pool from what is under %s: %w", s.cfg.Dir, err)
	}
	logger.Warn("the pool goes on from this server alone")
	return nil
}

// checkWatermark refuses a log that is older than what this server has had, and claims the directory.
func (s *starter) checkWatermark(snapshots raft.SnapshotStore) error {
	term, err := s.store.GetUint64([]byte("CurrentTerm")) // as Raft names it
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	last, err := s.store.LastIndex()
	if err != nil {
		return err
	}
	known, err := snapshots.List()
	if err != nil {
		return fmt.Errorf("list the snapshots under %s: %w", s.cfg.Dir, err)
	}
	for _, snapshot := range known {
		last = max(last, snapshot.Index)
	}
	if err := s.seen.checkLog(term, last); err != nil {
		return err
	}
	if err := s.seen.begin(); err != nil && !store.IsDiskFull(err) {
		return err
	}
	return nil
}

// newRaft is raft.NewRaft, which panics on a log with a gap.
func newRaft(conf *raft.Config, fsm raft.FSM, log quiescentLog, snapshots raft.SnapshotStore, transport raft.Transport) (r *raft.Raft, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the log and the snapshots do not fit together: %v", p)
		}
	}()
	newest, err := raft.NewLogCache(cachedEntries, log)
	if err != nil {
		return nil, err
	}
	return raft.NewRaft(conf, fsm, newest, log, snapshots, transport)
}
