// Package server is the part of Pinion that holds the truth: Raft on disk, the leader's loops, and the path that
// places tasks. A Server satisfies what the doors (api) and the agent (node) need, in process.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/dispatch"
	"pinion/server/liveness"
	"pinion/server/membership"
	"pinion/server/rpc"
	"pinion/server/scheduler"
	"pinion/server/store"
)

// keyringFile holds the keys that secrets in the state are sealed with. A member has it in its data directory, beside the log,
// so that it outlives a log that is put aside.
const keyringFile = "seal.key"

// Config of a server. Dir, HostID, Address and Log are required; the default of everything else is in brackets.
type Config struct {
	Dir           string           // directory of the Raft log and snapshots; one pool, one host, for ever
	HostID        string           // this host's id, which is its Raft id too
	Address       string           // host:port under which the other hosts reach this one
	PoolID        string           // the pool the directory must belong to, or is made for [any, or a new one]
	Log           *slog.Logger     // where the server says what it does
	LostAfter     time.Duration    // silence after which a host counts as disconnected [4 s]
	Transport     raft.Transport   // how servers talk to each other [in memory: a server alone]
	Now           func() time.Time // the clock that stamps records and judges liveness [time.Now]
	MinFree       uint64           // bytes of free disk below which nothing new is recorded [64 MiB]
	Reserve       int64            // bytes of disk set aside for the log from the start [32 MiB]
	KeyringFile   string           // file of the keys that secrets in the state are sealed with [seal.key in Dir]
	SkipBootstrap bool             // the directory is made for a server of a pool that exists: never begin a pool with it
	Settings      spec.Settings    // of a pool that begins here; PoolID and these are recorded once

	// CA is the pool's, if this host holds it; the first leader records it. [none]
	CA func() (a spec.CA, held bool)

	peers      *rpc.Client // how the leader is reached while it is another host [not at all]
	onLeader   func()      // called after each change of Leader; may be nil
	recovering bool        // see recover.go
}

func (c Config) withDefaults() Config {
	if c.LostAfter == 0 {
		c.LostAfter = 4 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MinFree == 0 {
		c.MinFree = 64 << 20
	}
	if c.KeyringFile == "" {
		c.KeyringFile = filepath.Join(c.Dir, keyringFile)
	}
	if c.Transport == nil {
		address, transport := raft.NewInmemTransport(raft.ServerAddress(c.Address))
		transport.Connect(address, transport)
		c.Transport = transport
	}
	return c
}

// Server is one voter of the pool. Its methods are safe for concurrent use. Every method that needs the leader fails
// with an error that wraps raftfsm.ErrUnavailable while this server does not lead.
type Server struct {
	cfg           Config
	log           *slog.Logger
	state         *raftfsm.State
	store         *store.Store
	dirLock       *os.File // the directory, ours while it is open
	raft          *raft.Raft
	leaderCh      chan bool                  // from Raft: leadership came or went
	connClosedCh  chan struct{}              // see linkEnded
	leaderTerm    atomic.Pointer[leaderTerm] // nil while this server may not answer as the leader
	ready         chan struct{}              // closed when the first term of this process has begun
	leaderChecks  rpc.Batcher[struct{}, error]
	stallDetector stallDetector
	scheduler     *scheduler.Scheduler

	agents     *dispatch.Backend
	leader     *rpc.LeaderTracker
	liveness   *liveness.Monitor
	servers    *membership.Servers
	publisher  *membership.Publisher
	authority  *admission.Authority
	accessKeys *admission.AccessKeys
	diskLow    atomic.Bool // the last look found too little disk

	drain     drain // calls that Close waits for
	loops     sync.WaitGroup
	life      context.Context // ends with Close (cause errClosed) or a failure (its error): no call is admitted then
	end       context.CancelCauseFunc
	answering context.Context // ends with a failure, or when Close is done: calls in progress are given up then
	abandon   context.CancelCauseFunc
	closeOnce sync.Once
	failOnce  sync.Once
	fatal     chan error
}

// State is the state as this server has it; it may lag behind the leader's.
func (s *Server) State() *raftfsm.State { return s.state }

// Now is the time by the server's clock.
func (s *Server) Now() time.Time { return s.cfg.Now() }

// Fatal receives one error when the server cannot go on: its disk hangs or its log is damaged. The process must end
// then, saying it; nothing this server holds may be trusted.
func (s *Server) Fatal() <-chan error { return s.fatal }

// fail ends the server's part in the pool at once. It is called from within Raft's own calls, so it waits for nothing.
func (s *Server) fail(err error) {
	s.failOnce.Do(func() {
		s.log.Error("this server cannot go on", "error", err)
		s.leaderTerm.Store(nil)
		s.fatal <- err
		s.abandon(err)
	})
}

// acquire admits a call, which ends with s.drain.release. It never waits.
func (s *Server) acquire() error {
	if s.life.Err() == nil && s.drain.acquire() {
		return nil
	}
	return s.ended()
}

// ended is why a server that was closed, or has failed, refuses a call.
func (s *Server) ended() error {
	if cause := context.Cause(s.life); cause != nil && !errors.Is(cause, errClosed) {
		return fmt.Errorf("%w (%w)", ErrNotLeader, cause)
	}
	return errClosed
}

// closeTimeout is how long Close waits for calls under way and for Raft.
const closeTimeout = 2 * time.Second

// Close ends the server in order; what was acknowledged is on disk. An error says what would not end.
func (s *Server) Close() error {
	var err error
	s.closeOnce.Do(func() { err = s.shutdown() })
	return err
}

func (s *Server) shutdown() error {
	s.end(errClosed)
	defer s.abandon(errClosed)
	answered := s.drain.close()
	s.store.Stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-answered
		s.raft.Shutdown().Error()
		s.loops.Wait()
	}()
	select {
	case <-ended:
		defer s.dirLock.Close()
		return s.store.Close()
	case <-time.After(closeTimeout):
		return fmt.Errorf("the server under %s did not end within %s: its disk may hang", s.cfg.Dir, closeTimeout)
	}
}

// Leads reports whether this server leads and may answer.
func (s *Server) Leads() bool { return s.leaderTerm.Load() != nil }

// requireLeader returns the term under way, ErrNotLeader when there is none.
func (s *Server) requireLeader() (*leaderTerm, error) {
	if t := s.leaderTerm.Load(); t != nil {
		return t, nil
	}
	if address, _ := s.raft.LeaderWithID(); address != "" && string(address) != s.cfg.Address {
		return nil, fmt.Errorf("%w; the leader is %s", ErrNotLeader, address)
	}
	return nil, ErrNotLeader
}

// waitFor returns when c is closed, or with the reason why it will not be.
func waitFor[T any](ctx context.Context, s *Server, c <-chan T) error {
	select {
	case <-c:
		return nil
	case <-s.life.Done():
		return context.Cause(s.life)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
