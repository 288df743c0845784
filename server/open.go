package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/dispatch"
	"pinion/server/liveness"
	"pinion/server/membership"
	"pinion/server/rpc"
	"pinion/server/scheduler"
	"pinion/server/seal"
	"pinion/server/store"
)

// Open starts a server on its directory and makes the directory, and with it a new pool of one server, when there is
// none. A server that is alone leads when Open returns; one of several may still be a follower.
//
// It refuses, and changes nothing: a directory that another process uses (ErrInUse), of a newer pinion (ErrNewer), of
// another pool or host (ErrOtherPool, ErrOtherHost), and one whose log or snapshot is damaged (*store.Damage).
func Open(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the raft directory: %w", err)
	}
	dirLock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	s, err := openServer(cfg)
	if err != nil {
		dirLock.Close()
		return nil, err
	}
	s.dirLock = dirLock
	if err := s.electSoleVoter(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the server under %s: %w", cfg.Dir, err), s.Close())
	}
	return s, nil
}

func openServer(cfg Config) (*Server, error) {
	id, err := checkIdentity(cfg)
	if err != nil {
		return nil, err
	}
	cfg.PoolID = id.Pool
	keyring, err := seal.Open(cfg.KeyringFile)
	if err != nil {
		return nil, err
	}
	log, err := store.Open(store.Options{Path: filepath.Join(cfg.Dir, "raft.db"), Log: cfg.Log, Reserve: cfg.Reserve})
	if err != nil {
		return nil, err
	}
	s := newServer(cfg, log, keyring)
	if err := s.startRaft(); err != nil {
		log.Close()
		return nil, err
	}
	return s, nil
}

func newServer(cfg Config, log *store.Store, keyring *seal.Keyring) *Server {
	s := &Server{
		cfg:          cfg,
		log:          cfg.Log,
		state:        raftfsm.NewState(),
		store:        log,
		leaderCh:     make(chan bool, 1),
		connClosedCh: make(chan struct{}, 1),
		ready:        make(chan struct{}),
		fatal:        make(chan error, 1),
	}
	s.answering, s.abandon = context.WithCancelCause(context.Background())
	s.life, s.end = context.WithCancelCause(s.answering)
	s.leader = rpc.NewLeaderTracker(s.Leader)
	s.liveness = liveness.New(core{s}, s.log, s.leader, cfg.peers, cfg.LostAfter)
	s.servers = membership.NewServers(core{s}, s.liveness, cfg.peers, cfg.HostID, s.log, raftLogger(s.log))
	s.publisher = membership.NewPublisher(cfg.PoolID, s.servers, s.leader)
	s.agents = dispatch.NewBackend(core{s}, s.liveness, s.publisher, cfg.peers)
	s.leaderChecks = rpc.Batcher[struct{}, error]{Handle: s.verifyLeader, MaxBatch: 4096}
	s.authority = &admission.Authority{Server: s, PoolInfo: func() spec.PoolInfo { return s.publisher.Build() }, Log: s.log}
	s.accessKeys = &admission.AccessKeys{Server: s, Keyring: keyring}
	if cfg.peers != nil {
		s.accessKeys.Fetch = &admission.KeyringFetcher{Client: cfg.peers, Others: s.otherServers, Log: s.log}
	}
	s.scheduler = scheduler.New(s, s.liveness.Schedulable, s.log)
	return s
}

// startRaft starts Raft on the store, making the pool when nothing was ever recorded.
func (s *Server) startRaft() error {
	logger := raftLogger(s.log)
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(s.cfg.Dir, retainSnapshots, logger)
	if err != nil {
		return fmt.Errorf("open the snapshots under %s: %w", s.cfg.Dir, err)
	}
	conf := s.raftConfig(logger)
	if !s.cfg.SkipBootstrap {
		if err := s.bootstrapRaft(conf, snapshots); err != nil {
			return err
		}
	}
	if s.cfg.recovering {
		if err := s.recoverRaftConfig(conf, snapshots, logger); err != nil {
			return err
		}
	}
	if err := verifySnapshots(filepath.Join(s.cfg.Dir, "snapshots"), snapshots, s.store); err != nil {
		return err
	}
	if s.raft, err = newRaft(conf, raftfsm.NewFSM(s.state), s.store, snapshots, s.cfg.Transport); err != nil {
		return fmt.Errorf("start raft under %s: %w", s.cfg.Dir, err)
	}
	s.store.OnFatal(s.fail)
	s.loops.Go(s.watchLeadership)
	s.loops.Go(s.watchLeader)
	s.loops.Go(s.fastFailoverLoop)
	s.loops.Go(func() { s.liveness.Forward(s.life) })
	s.loops.Go(func() { s.publisher.Run(s.life) })
	s.loops.Go(s.watchDisk)
	s.loops.Go(s.watchHeap)
	return nil
}

// bootstrapRaft writes the first configuration, this server alone, into a log in which nothing was ever recorded. A crash
// in the middle of it leaves a term without a configuration; doing it again completes it.
func (s *Server) bootstrapRaft(conf *raft.Config, snapshots raft.SnapshotStore) error {
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
	if err := s.CheckWritable(); err != nil {
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

// newRaft is raft.NewRaft, which panics on a log with a gap.
func newRaft(conf *raft.Config, fsm raft.FSM, log *store.Store, snapshots raft.SnapshotStore, transport raft.Transport) (r *raft.Raft, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the log and the snapshots do not fit together: %v", p)
		}
	}()
	return raft.NewRaft(conf, fsm, log, log, snapshots, transport)
}

// electSoleVoter waits until a server that is alone leads. There is nobody else it could hear from, so it calls its election
// at once instead of waiting for a heartbeat.
func (s *Server) electSoleVoter(ctx context.Context) error {
	if !s.isSoleVoter() {
		return nil
	}
	s.campaignNow()
	return waitFor(ctx, s, s.ready)
}
