package consensus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/server/rpc"
	"pinion/server/store"
)

// Open is New and Start.
func Open(ctx context.Context, cfg Config, hooks Hooks) (*Node, error) {
	n, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return n, n.Start(ctx, hooks)
}

// New locks the directory for a node, creating it if needed; Start or Discard follows. Nothing runs yet.
//
// It refuses, and changes nothing: a directory that another process uses (ErrInUse), of a newer pinion (ErrNewer), of
// another pool or host (ErrOtherPool, ErrOtherHost), one that is an older copy of itself (ErrOlderCopy), and one whose log is
// damaged (*store.Damage).
func New(cfg Config) (*Node, error) {
	cfg = cfg.WithDefaults()
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the raft directory: %w", err)
	}
	dirLock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	n, err := newNode(cfg)
	if err != nil {
		dirLock.Close()
		return nil, err
	}
	n.dirLock = dirLock
	return n, nil
}

func newNode(cfg Config) (*Node, error) {
	watermark, err := openWatermark(cfg)
	if err != nil {
		return nil, err
	}
	known, err := checkIdentity(cfg)
	if err != nil {
		return nil, err
	}
	cfg.PoolID = known.Pool
	log, err := store.Open(store.Options{Path: filepath.Join(cfg.Dir, "raft.db"), Log: cfg.Log, Reserve: cfg.Reserve})
	if err != nil {
		return nil, err
	}
	life := newLifecycle()
	candidates := &candidateTransport{transport: cfg.Transport.(transport), requests: make(chan raft.RPC)}
	network := newQuiescentTransport(candidates, life.life)
	n := &Node{
		cfg:        cfg,
		network:    network,
		candidates: candidates,
		log:        cfg.Log,
		state:      raftfsm.NewState(),
		store:      log,
		disk:       &diskGuard{dir: cfg.Dir, minFree: cfg.MinFree, store: log, log: cfg.Log},
		watermark:  watermark,
		measures:   newMeasures(),
		lifecycle:  life,
	}
	n.signatures = &signatureLog{FSM: raftfsm.NewFSM(n.state), now: cfg.Now}
	n.leader = rpc.NewLeaderTracker(n.Leader)
	n.terms = &termRunner{node: n, leaderCh: make(chan bool, 1), ready: make(chan struct{})}
	n.leaderChecks = rpc.Batcher[struct{}, error]{Handle: n.terms.verify, MaxBatch: 4096}
	n.failover = &fastFailover{self: raft.ServerID(cfg.HostID), transport: network, leader: n.leader, log: cfg.Log, connClosed: make(chan struct{}, 1)}
	return n, nil
}

// Discard gives up a node that was not started.
func (n *Node) Discard() {
	n.store.Close()
	n.dirLock.Close()
}

// Start starts Raft, and with it a new pool of one server when the directory is new. A node that is the only voter leads
// when Start returns; one of several may still be a follower. A damaged snapshot is refused (*store.Damage), and a log
// that ends before what this server has had (ErrOlderCopy). After an error the node is closed.
func (n *Node) Start(ctx context.Context, hooks Hooks) error {
	n.hooks = hooks
	if err := n.startRaft(); err != nil {
		n.Discard()
		return err
	}
	if !n.IsSoleVoter() {
		return nil
	}
	n.failover.campaignNow() // a sole voter need not wait for other servers
	if err := waitFor(ctx, n.life, n.terms.ready); err != nil {
		return errors.Join(fmt.Errorf("start the server under %s: %w", n.cfg.Dir, err), n.Close())
	}
	return nil
}

// startRaft starts Raft and the loops of the node.
func (n *Node) startRaft() error {
	starter := &starter{cfg: n.cfg, network: n.network, store: n.store, disk: n.disk, seen: n.watermark, leaderCh: n.terms.leaderCh}
	raft, err := starter.start(n.signatures)
	if err != nil {
		return err
	}
	n.raft, n.failover.raft, n.candidates.raft = raft, raft, raft
	n.store.OnFatal(n.fail)
	keepWatermark := func(ctx context.Context) { n.watermark.run(ctx, raft) }
	bound := &logBound{raft: raft, store: n.store, snapshots: starter.snapshots, most: n.cfg.MaxLog, log: n.log, now: n.Now}
	sayLeaderless := func(ctx context.Context) { logLeaderless(ctx, n.leader, n.log) }
	for _, loop := range append(n.hooks.Loops, n.candidates.forward, n.terms.watch, n.terms.watchLeader, n.failover.loop, n.disk.watch, keepWatermark, bound.run, sayLeaderless) {
		n.loops.Go(func() { loop(n.life) })
	}
	return nil
}
