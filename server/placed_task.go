package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// placedTask is a task with a place of which the queue knows when it may end.
type placedTask struct {
	team        string
	gpus        int
	priority    int
	preemptible bool
	limit       time.Duration // 0: none
	startedAt   time.Time     // it started; zero: it has not
	placedAt    time.Time     // when it was seen with a place first
	stoppingAt  time.Time     // it was asked to stop; zero: it was not
}

// defaultStopTimeout is how long a task that is asked to stop takes at the most, when nothing more is known: ECS's stopTimeout.
const defaultStopTimeout = 30 * time.Second

// track notes what is to be known of a task that has a place.
func (w *queueController) track(t *spec.Task, terms spec.SchedulingOptions) {
	if terms.TimeLimit == 0 && !terms.Preemptible && t.DesiredStatus != spec.Stopped {
		delete(w.placed, t.ID) // its tags may have said otherwise before
		return
	}
	s := w.placed[t.ID]
	if s == nil {
		s = &placedTask{placedAt: w.cfg.Now()}
		w.placed[t.ID] = s
	}
	s.team, s.priority, s.preemptible, s.limit = terms.Team, terms.Priority, terms.Preemptible, terms.TimeLimit
	s.gpus = len(t.GPUs())
	if s.startedAt = t.Times.Started; t.DesiredStatus == spec.Stopped {
		if s.stoppingAt = t.Times.Stopping; s.stoppingAt.IsZero() {
			s.stoppingAt = s.placedAt
		}
	}
}

// endTime is schedule.Ends: when a task is over at the latest.
func (w *queueController) endTime(t *spec.Task) time.Time {
	s := w.placed[t.ID]
	switch {
	case s == nil:
		return time.Time{}
	case !s.stoppingAt.IsZero():
		return s.stoppingAt.Add(defaultStopTimeout)
	case s.limit == 0:
		return time.Time{}
	case s.startedAt.IsZero():
		return s.placedAt.Add(s.limit)
	}
	return s.startedAt.Add(s.limit)
}

// stopTimedOut stops the tasks that have reached their time limit. It is the limit of a whole gang: the first that reaches it
// stops for all.
func (w *queueController) stopTimedOut(view *raftfsm.View, now time.Time) {
	stops := map[string]raftfsm.StopTask{}
	for id, s := range w.placed {
		if s.limit == 0 || !s.stoppingAt.IsZero() || s.startedAt.IsZero() || now.Before(s.startedAt.Add(s.limit)) {
			continue
		}
		reason := fmt.Sprintf("The task reached its time limit of %s (%s)", s.limit, spec.TagTimeLimit)
		for _, mate := range gangMembers(view, id) {
			stops[mate] = raftfsm.StopTask{ID: mate, Code: spec.StopScheduler, At: now, Reason: reason}
		}
	}
	w.stopTasks(w.term.ctx, slices.Collect(maps.Values(stops)))
}

// gangMembers is a task and those of its gang that are not to stop already.
func gangMembers(view *raftfsm.View, id string) []string {
	task := view.Task(id)
	if task == nil || task.Gang == nil {
		return []string{id}
	}
	var ids []string
	for _, mate := range view.Gang(task.Gang.ID) {
		if mate.DesiredStatus != spec.Stopped {
			ids = append(ids, mate.ID)
		}
	}
	return ids
}

// stopTasks records that tasks are to stop, and returns those for which that failed.
func (s *Server) stopTasks(ctx context.Context, stops []raftfsm.StopTask) (failed []string) {
	var (
		all errgroup.Group
		mu  sync.Mutex
	)
	all.SetLimit(stopConcurrency)
	for _, stop := range stops {
		all.Go(func() error {
			if _, err := s.propose(ctx, stop); err != nil {
				s.log.Warn("a task could not be stopped, will try again", "task", stop.ID, "why", stop.Reason, "error", err)
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, stop.ID)
			}
			return nil
		})
	}
	_ = all.Wait() // each has been told
	return failed
}
