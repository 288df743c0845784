package raftfsm

import (
	"context"
	"slices"
	"sync"

	"pinion/raftfsm/spec"
)

// hostWatches notifies readers of the tasks of a host.
type hostWatches struct {
	mu     sync.Mutex
	byHost map[string]chan struct{}
}

// watch returns a channel that is closed when the live tasks of the host, as they are in view, may have changed.
func (w *hostWatches) watch(hostID string, live []*spec.Task, view *View) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := view.state.View()
	if tasksByHost.tree(now) != tasksByHost.tree(view) && !slices.Equal(live, now.liveTasksOn(hostID)) {
		changed := make(chan struct{})
		close(changed)
		return changed
	}
	if w.byHost == nil {
		w.byHost = map[string]chan struct{}{}
	}
	if w.byHost[hostID] == nil {
		w.byHost[hostID] = make(chan struct{})
	}
	return w.byHost[hostID]
}

// notify closes the channels of the hosts whose tasks changed. The caller has committed the changes already.
func (w *hostWatches) notify(made []mutation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range made {
		for _, object := range []any{m.before, m.after} {
			if task, ok := object.(*spec.Task); ok && task.LastStatus != spec.Stopped {
				w.notifyHost(task.HostID)
			}
		}
	}
}

// notifyAll closes all channels.
func (w *hostWatches) notifyAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for hostID := range w.byHost {
		w.notifyHost(hostID)
	}
}

func (w *hostWatches) notifyHost(hostID string) {
	if waiting := w.byHost[hostID]; waiting != nil {
		close(waiting)
		delete(w.byHost, hostID)
	}
}

// appliedSignal wakes the goroutines that wait for the next change of a state. The zero value is ready.
type appliedSignal struct {
	mu sync.Mutex
	c  chan struct{}
}

func (a *appliedSignal) wait() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.c == nil {
		a.c = make(chan struct{})
	}
	return a.c
}

func (a *appliedSignal) notify() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.c != nil {
		close(a.c)
		a.c = nil
	}
}

// WaitForIndex waits until the state has the change at index and all before it. The error is the cause of the context's
// end.
func (s *State) WaitForIndex(ctx context.Context, index uint64) error {
	for {
		applied := s.applied.wait()
		if s.View().Index() >= index {
			return nil
		}
		select {
		case <-applied:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
