package scheduler

import (
	"context"

	"pinion/raftfsm/spec"
)

// Local is the scheduler of the server on this host. Its methods are those of Scheduler, and fail with spec.ErrNotLeader where this host
// does not lead.
type Local struct {
	Of func() (*Scheduler, error)
}

// Queue is Scheduler.Queue.
func (l Local) Queue(ctx context.Context, cluster string) ([]spec.QueueItem, error) {
	s, err := l.Of()
	if err != nil {
		return nil, err
	}
	return s.Queue(ctx, cluster)
}

// Explain is Scheduler.Explain.
func (l Local) Explain(ctx context.Context, task string) (spec.Explanation, error) {
	s, err := l.Of()
	if err != nil {
		return spec.Explanation{}, err
	}
	return s.Explain(ctx, task)
}

// ExplainBriefly is Scheduler.ExplainBriefly.
func (l Local) ExplainBriefly(ctx context.Context, task string) (spec.Explanation, error) {
	s, err := l.Of()
	if err != nil {
		return spec.Explanation{}, err
	}
	return s.ExplainBriefly(ctx, task)
}
