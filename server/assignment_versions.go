package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Assignments waits until what the host must run differs from what index after stands for, and returns all of it with
// the index to ask from next time; 0 asks for an answer at once. A host's own reports do not wake it. Every server
// answers, from its own state: one that lags behind after waits until it has caught up, so that nothing from the past is
// ever an answer.
// raftfsm.ErrNotFound when the pool does not know the host: it must join first.
func (s *Server) Assignments(ctx context.Context, hostID string, after uint64) ([]spec.Assignment, uint64, error) {
	return s.assignments(ctx, hostID, after, after)
}

// assignments is Assignments for a host that has seen the index floor: no answer is older than that.
func (s *Server) assignments(ctx context.Context, hostID string, after, floor uint64) ([]spec.Assignment, uint64, error) {
	if err := s.acquire(); err != nil {
		return nil, 0, err
	}
	defer s.drain.release()
	if err := s.waitForIndex(ctx, floor); err != nil {
		return nil, 0, err
	}
	for {
		list, index, changed, err := s.assignmentVersions.current(s.state, hostID, floor)
		if err != nil || index != after {
			return list, index, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		case <-s.life.Done():
			return nil, 0, s.ended()
		}
	}
}

// assignmentVersions remembers since which index each host's assignments are as they are. It is only memory, of each server for
// itself: one that has none answers at once with the same list again, which changes nothing on the host.
type assignmentVersions struct {
	mu    sync.Mutex
	hosts map[string]assignmentVersion
}

// assignmentVersion is a list of assignments, reduced to what a host acts on, and the index at which it was first seen.
type assignmentVersion struct {
	index uint64
	tasks []desiredTask
}

type desiredTask struct {
	task    string
	desired spec.Status
}

// current reads the host's assignments now and since when they are so; changed is closed when they may be others.
func (w *assignmentVersions) current(state *raftfsm.State, hostID string, after uint64) (list []spec.Assignment, since uint64, changed <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	view := state.View()
	if view.Host(hostID) == nil {
		return nil, 0, nil, fmt.Errorf("host %s: %w", hostID, spec.ErrNotFound)
	}
	list, changed = view.Assignments(hostID)
	var tasks []desiredTask
	for _, a := range list {
		tasks = append(tasks, desiredTask{a.Task.ID, a.Task.DesiredStatus})
	}
	before, known := w.hosts[hostID]
	if known && before.index >= after && slices.Equal(before.tasks, tasks) {
		return list, before.index, changed, nil
	}
	if w.hosts == nil {
		w.hosts = make(map[string]assignmentVersion)
	}
	w.hosts[hostID] = assignmentVersion{view.Index(), tasks}
	return list, view.Index(), changed, nil
}

// catchUpTimeout is how long a server that lags behind is given, reachStep how often it looks at itself meanwhile.
const (
	catchUpTimeout      = 5 * time.Second
	catchUpPollInterval = 5 * time.Millisecond
)

// waitForIndex waits until the state has the change at index, and everything before it.
func (s *Server) waitForIndex(ctx context.Context, index uint64) error {
	if s.state.View().Index() >= index {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, catchUpTimeout, errBehind)
	defer cancel()
	tick := time.NewTicker(catchUpPollInterval)
	defer tick.Stop()
	for s.state.View().Index() < index {
		if err := waitFor(ctx, s, tick.C); err != nil {
			return err
		}
	}
	return nil
}
