// Package scheduler gives tasks their places: RunTask and StartTask, the queue of pending tasks with its reservations and
// preemption, and explanations of why a task waits. It decides on the leader alone, by package schedule, and records what it
// decided as one log entry that apply checks again.
package scheduler

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pinion/raftfsm"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// Node is the consensus node as the scheduler needs it.
type Node interface {
	// Propose records a command while this node leads, and returns its answer.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	State() *raftfsm.State
	// CheckLeader returns nil when no other node leads: the state has every acknowledged change then.
	CheckLeader(ctx context.Context) error
	// CheckWritable returns spec.ErrReadOnly while the disk is full.
	CheckWritable() error
	// Now is the one clock of the node.
	Now() time.Time
}

// HostFacts is what the leader knows of hosts beside the state.
type HostFacts struct {
	Schedulable func(hostID string) bool         // it was heard of lately enough for new tasks
	Images      func(hostID string) *blob.Images // that it has, the same list until they change; nil: it is not known
}

// Scheduler places tasks. Its methods are safe for concurrent use, and fail with spec.ErrNotLeader between terms.
type Scheduler struct {
	node     Node
	known    HostFacts
	log      *slog.Logger
	term     atomic.Pointer[term] // the latest one; nil before the first
	runs     rpc.Batcher[spec.RunRequest, runReply]
	enqueues rpc.Batcher[spec.RunRequest, runReply]
	limit    pendingLimit // for enqueues

	// Placements is how long tasks take to get their places: those of RunTask from the request on, those of a queue from when they were made.
	Placements *prometheus.HistogramVec
}

// Ways to a place: labels of Scheduler.Placements.
const (
	byRequest = "RunTask"
	byQueue   = "queue"
)

func newPlacements() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "pinion_placement_seconds", Help: "Time until tasks had a place and that was recorded, by this leader: of RunTask from the request on, of a queue from when the tasks were made.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30, 60, 300, 1800, 3600, 6 * 3600, 24 * 3600},
	}, []string{"through"})
}

// New makes a scheduler.
func New(node Node, known HostFacts, log *slog.Logger) *Scheduler {
	s := &Scheduler{node: node, known: known, log: log, limit: pendingLimit{max: spec.MaxQueued}, Placements: newPlacements()}
	s.runs.Handle, s.runs.MaxBatch, s.runs.Concurrency = s.runBatch, maxBatchRuns, concurrentBatches
	s.enqueues.Handle, s.enqueues.MaxBatch = s.enqueue, maxEnqueueRuns
	return s
}

// term is the scheduler's memory during one leader term. A new term begins with what the state says.
type term struct {
	ctx        context.Context
	planner    *planner
	controller *queueController
}

// StartTerm begins a leader term that ends with ctx. It returns the loops of the term, each of which ends with ctx, and
// is called before the node answers as the leader.
func (s *Scheduler) StartTerm(ctx context.Context) []func() {
	s.Placements.Reset() // the pool's series begins anew with each leader, or it would jump to what this one had counted in an earlier term
	t := &term{ctx: ctx, planner: newPlanner(s.node, s.known, s.Placements.WithLabelValues(byQueue))}
	t.controller = newQueueController(ctx, s.node, t.planner, s.log)
	s.term.Store(t)
	return []func(){func() { t.planner.followLoop(ctx) }, t.controller.loop}
}

// currentTerm is the leader term in progress.
func (s *Scheduler) currentTerm(ctx context.Context) (*term, error) {
	if t := s.term.Load(); t != nil && t.ctx.Err() == nil {
		return t, nil
	}
	if err := s.node.CheckLeader(ctx); err != nil {
		return nil, err // it says which host leads
	}
	return nil, spec.ErrNotLeader
}

// writableTerm is currentTerm for a caller that records something.
func (s *Scheduler) writableTerm(ctx context.Context) (*term, error) {
	if err := s.node.CheckWritable(); err != nil {
		return nil, err
	}
	return s.currentTerm(ctx)
}
