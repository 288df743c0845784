// Package consensus is the Raft node of a server: it records commands in the replicated log, serves linearizable views of
// the state, and tells when a leader term begins and ends.
package consensus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
	"pinion/server/store"
)

// Config of a node. Dir, HostID, Address and Log are required; the default of everything else is in brackets.
type Config struct {
	Dir           string           // directory of the Raft log and snapshots; it belongs to one pool and one host for ever
	HostID        string           // this host's id, which is its Raft id too
	Address       string           // host:port under which the other hosts reach this one
	PoolID        string           // the pool the directory must belong to, or is made for [any, or a new one]
	Log           *slog.Logger     // where the node says what it does
	Transport     raft.Transport   // how servers talk to each other, with pre-votes [in memory: a server alone]
	Now           func() time.Time // the clock that stamps records and judges stalls [time.Now]
	MinFree       uint64           // bytes of free disk below which nothing new is recorded [64 MiB]
	Reserve       int64            // bytes of disk that are allocated for the log from the start [32 MiB]
	MaxLog        int64            // bytes of the log: after half of them in new entries a snapshot takes the place of older ones [64 MiB]
	SkipBootstrap bool             // for a server of a pool that exists: the directory never begins a pool
	Recover       bool             // make this server the only one of a new incarnation of the pool
	Watermark     string           // file outside of Dir that tells an older copy of it [none: a copy goes unnoticed]
	Alone         bool             // this host was the pool's only server, so an older copy of Dir may be put back
	Settings      spec.Settings    // of a pool that begins here; PoolID and these are recorded once

	// CheckMemory refuses what adds to what users have in the state, with an error that wraps spec.ErrStateFull, while this server has no memory
	// for it, or another one of the state. [they always have]
	CheckMemory func(*raftfsm.View) error

	// BeginTerm makes the first commands of a leader term, given the state. [none]
	BeginTerm func(view *raftfsm.View) ([]raftfsm.Command, error)
}

// Hooks are the server's callbacks and loops beside the node; each may be nil.
type Hooks struct {
	// StartTerm is called when the node begins to lead, with the state caught up and before it answers as the leader. It
	// returns the loops of the term, each of which ends with ctx.
	StartTerm func(ctx context.Context) (loops []func())
	// Loops run while the node lives; each ends with ctx, and Close waits for it.
	Loops []func(ctx context.Context)
	// LeaderChanged is called after each change of Leader's result.
	LeaderChanged func()
}

// WithDefaults fills in what is zero.
func (c Config) WithDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MinFree == 0 {
		c.MinFree = 64 << 20
	}
	if c.MaxLog == 0 {
		c.MaxLog = 64 << 20
	}
	if c.Transport == nil {
		address, transport := raft.NewInmemTransport(raft.ServerAddress(c.Address))
		transport.Connect(address, transport)
		c.Transport = transport
	}
	return c
}

// Node is one server of the pool's Raft group. Its methods are safe for concurrent use. A method that needs the leader
// fails with an error that wraps spec.ErrUnavailable while this node does not lead.
type Node struct {
	cfg          Config
	hooks        Hooks
	log          *slog.Logger
	state        *raftfsm.State
	store        *store.Store
	network      *quiescentTransport
	candidates   *candidateTransport
	dirLock      *os.File // held while the node is open
	raft         *raft.Raft
	terms        *termRunner
	leader       *rpc.LeaderTracker
	leaderChecks rpc.Batcher[struct{}, error]
	failover     *fastFailover
	disk         *diskGuard
	watermark    *watermark
	signatures   *signatureLog
	measures     *measures

	*lifecycle
}

// State returns this node's copy of the state, which may lag behind the leader's.
func (n *Node) State() *raftfsm.State { return n.state }

// Now is the time by the node's clock.
func (n *Node) Now() time.Time { return n.cfg.Now() }

// PoolID is the pool of this node.
func (n *Node) PoolID() string { return n.cfg.PoolID }

// Raft is for membership changes alone.
func (n *Node) Raft() *raft.Raft { return n.raft }

// CurrentTerm is Raft's.
func (n *Node) CurrentTerm() uint64 { return n.raft.CurrentTerm() }

// Tracker follows who leads; calls to the leader go through it.
func (n *Node) Tracker() *rpc.LeaderTracker { return n.leader }

// fail ends the node at once. It is called from within Raft's own calls, so it waits for nothing.
func (n *Node) fail(err error) {
	n.failOnce.Do(func() {
		n.log.Error("this server cannot go on", "error", err)
		n.terms.current.Store(nil)
		n.fatal <- err
		n.abandon(fmt.Errorf("%w (%w)", spec.ErrNotLeader, err))
	})
}

// closeTimeout is how long Close waits for calls in progress and for Raft.
const closeTimeout = 2 * time.Second

// Done is closed when every goroutine of the node has ended, which may be later than Close's return.
func (n *Node) Done() <-chan struct{} { return n.ended }

// Close shuts the node down in order; every acknowledged change is on disk. The error names what did not end in time.
func (n *Node) Close() error {
	var err error
	n.closeOnce.Do(func() { err = n.shutdown() })
	return err
}

func (n *Node) shutdown() error {
	n.end(spec.ErrClosed)
	defer n.abandon(spec.ErrClosed)
	answered := n.calls.close()
	n.store.Stop()
	ended := make(chan error, 1)
	go func() {
		defer close(n.ended)
		<-answered
		n.raft.Shutdown().Error()
		n.loops.Wait()
		n.watermark.advance(n.raft, slog.LevelWarn)
		ended <- errors.Join(n.store.Close(), n.dirLock.Close())
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(closeTimeout):
		return fmt.Errorf("the server under %s did not end within %s: its disk may hang", n.cfg.Dir, closeTimeout)
	}
}
