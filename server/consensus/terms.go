package consensus

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/backoff"
	"pinion/packaging/failpoint"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// minBeginPause and maxBeginPause bound the pause between two tries to begin a term; it doubles.
const (
	minBeginPause = 50 * time.Millisecond
	maxBeginPause = 2 * time.Second
)

// term is a leader term in which this node may answer: everything that earlier leaders acknowledged is in its state.
type term struct{ ctx context.Context }

// termRunner begins and ends leader terms.
type termRunner struct {
	node     *Node
	leaderCh chan bool            // from Raft: leadership came or went
	current  atomic.Pointer[term] // nil while this node may not answer as the leader
	ready    chan struct{}        // closed when the first term of this process has begun
	stalls   stallDetector
}

// watch starts and ends terms as Raft says. It alone reads leaderCh, which Raft writes to
// without waiting for more than this loop.
func (t *termRunner) watch(ctx context.Context) {
	for {
		select {
		case leads := <-t.leaderCh:
			if leads {
				t.run(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// run leads for one term and returns when it is over and its loops have ended.
func (t *termRunner) run(life context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { t.lead(ctx) })
	select {
	case <-t.leaderCh: // it can only be false
	case <-life.Done():
	}
	t.current.Store(nil)
	t.leaderChanged()
	cancel()
	loops.Wait()
	t.current.Store(nil) // the term may have begun while it ended
	t.leaderChanged()
}

// lead waits until the state has caught up, opens the term, and runs the leader's loops until ctx ends.
func (t *termRunner) lead(ctx context.Context) {
	if !t.awaitBegin(ctx) {
		return
	}
	failpoint.Reached(failpoint.TermBegun)
	var running []func()
	if t.node.hooks.StartTerm != nil {
		running = t.node.hooks.StartTerm(ctx)
	}
	t.stalls.reset(t.node.Now())
	t.current.Store(&term{ctx})
	t.markReady()
	t.leaderChanged()
	t.node.log.Info("this server leads the pool", "hostId", t.node.cfg.HostID, "pool", t.node.cfg.PoolID)
	var loops sync.WaitGroup
	loops.Go(func() { t.stalls.watch(ctx, t.node.Now) })
	for _, loop := range running {
		loops.Go(loop)
	}
	loops.Wait()
}

// awaitBegin repeats catchUp until it succeeds; false when the term has ended before. A leader that gave up here would be followed, answer
// nobody, and be replaced by nobody.
func (t *termRunner) awaitBegin(ctx context.Context) bool {
	for delays := (backoff.Backoff{Min: minBeginPause, Max: maxBeginPause}); ; {
		err := t.catchUp(ctx)
		if err == nil {
			return true
		}
		pause := delays.Next()
		if ctx.Err() == nil {
			t.node.log.Warn("this server was elected and cannot begin its term: nothing can be recorded in the pool until it can; it tries again", "error", err, "after", pause)
		}
		if backoff.Sleep(ctx, pause) != nil {
			t.node.log.Warn("leadership was lost before the term began", "error", err)
			return false
		}
	}
}

// catchUp returns when every entry of earlier terms is in the state, and the pool has its identity.
func (t *termRunner) catchUp(ctx context.Context) error {
	if err := barrier(ctx, t.node.raft); err != nil {
		return err
	}
	return t.initPool(ctx)
}

// initPool records what a pool begins with, each part once.
func (t *termRunner) initPool(ctx context.Context) error {
	if t.node.state.View().Pool() == nil {
		pool := spec.Pool{ID: t.node.cfg.PoolID, CreatedAt: t.node.cfg.Now(), Settings: t.node.cfg.Settings}
		if _, err := t.node.propose(ctx, raftfsm.CreatePool{Pool: pool}); err != nil {
			return err
		}
	}
	if t.node.cfg.Recover && !t.hasLed() {
		if err := t.bumpIncarnation(ctx); err != nil {
			return err
		}
	}
	if t.node.cfg.BeginTerm == nil {
		return nil
	}
	commands, err := t.node.cfg.BeginTerm(t.node.state.View())
	for _, command := range commands {
		if err == nil {
			_, err = t.node.propose(ctx, command)
		}
	}
	return err
}

// bumpIncarnation makes the recovered pool a new incarnation, of which this host is the only server.
func (t *termRunner) bumpIncarnation(ctx context.Context) error {
	view := t.node.state.View()
	next := view.Settings().Incarnation + 1
	if _, err := t.node.propose(ctx, raftfsm.PutSettings{Settings: spec.Settings{Incarnation: next}}); err != nil {
		return err
	}
	var failed []error
	for _, host := range view.Hosts("") {
		if host.Server && host.ID != t.node.cfg.HostID {
			_, err := t.node.propose(ctx, raftfsm.SetServerRole{ID: host.ID})
			failed = append(failed, err)
		}
	}
	t.node.log.Warn("the pool was recovered: this host is its only server, others follow by themselves", "incarnation", next)
	return errors.Join(failed...)
}

// markReady lets Open return: the first term of this process has begun.
func (t *termRunner) markReady() {
	if !t.hasLed() {
		close(t.ready)
	}
}

// hasLed reports whether this process has led once: everything recorded before it started is in its state then.
func (t *termRunner) hasLed() bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

// verify asks the other voters once for all reads of the batch. A server that loses and regains the leadership in between has
// a new term with its own barrier, so the result is still valid. A process that was stopped while it asked may have read answers
// from before.
func (t *termRunner) verify(reads []struct{}) []error {
	verdicts := make([]error, len(reads))
	_, err := t.node.RequireLeader()
	if err == nil && !t.stalls.observe(t.node.Now()) {
		err = spec.ErrNotLeader
	}
	if err == nil {
		over := t.node.network.reading()
		err = t.node.raft.VerifyLeader().Error()
		over()
	}
	if err == nil && !t.stalls.observe(t.node.Now()) {
		err = spec.ErrNotLeader
	}
	if err != nil {
		for i := range verdicts {
			verdicts[i] = spec.ErrNotLeader
		}
	}
	return verdicts
}

// leaderChanged is called after each change of Leader's result.
func (t *termRunner) leaderChanged() {
	t.node.leader.Refresh()
	if t.node.hooks.LeaderChanged != nil {
		t.node.hooks.LeaderChanged()
	}
}

// watchLeader follows what Raft hears of leaders.
func (t *termRunner) watchLeader(ctx context.Context) {
	seen := make(chan raft.Observation, 16)
	observer := raft.NewObserver(seen, false, func(o *raft.Observation) bool {
		_, leader := o.Data.(raft.LeaderObservation)
		return leader
	})
	t.node.raft.RegisterObserver(observer)
	defer t.node.raft.DeregisterObserver(observer)
	for {
		select {
		case <-seen:
			_, leader := t.node.raft.LeaderWithID()
			t.node.measures.observeLeader(leader)
			t.leaderChanged()
		case <-ctx.Done():
			return
		}
	}
}
