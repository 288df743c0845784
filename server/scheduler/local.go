package scheduler

import (
	"context"

	"pinion/raftfsm/spec"
)

// Local forwards to the Scheduler of the server on this host. Where the host does not lead its methods return spec.ErrNotLeader.
type Local struct {
	Get func() (*Scheduler, error)
}

// Queue is Scheduler.Queue.
func (l Local) Queue(ctx context.Context, cluster string) ([]spec.QueueItem, error) {
	s, err := l.Get()
	if err != nil {
		return nil, err
	}
	return s.Queue(ctx, cluster)
}

// Explain is Scheduler.Explain.
func (l Local) Explain(ctx context.Context, task string) (spec.Explanation, error) {
	s, err := l.Get()
	if err != nil {
		return spec.Explanation{}, err
	}
	return s.Explain(ctx, task)
}

// ExplainBriefly is Scheduler.ExplainBriefly.
func (l Local) ExplainBriefly(ctx context.Context, task string) (spec.Explanation, error) {
	s, err := l.Get()
	if err != nil {
		return spec.Explanation{}, err
	}
	return s.ExplainBriefly(ctx, task)
}
