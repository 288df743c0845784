package raftfsm

import (
	"pinion/raftfsm/spec"
	"slices"
	"sync"
)

// watches wake those who wait for the tasks of a host.
type watches struct {
	mu     sync.Mutex
	byHost map[string]chan struct{}
}

// of is closed when what live lists, the tasks of the host in view, may have changed since.
func (w *watches) of(hostID string, live []*spec.Task, view *View) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := view.state.View()
	if tasksByHost.in(now) != tasksByHost.in(view) && !slices.Equal(live, now.liveOn(hostID)) {
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

// fire wakes who waits for a host of the changed tasks. What changed is in the state already.
func (w *watches) fire(made []made) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range made {
		for _, object := range []any{m.before, m.after} {
			if task, ok := object.(*spec.Task); ok && task.LastStatus != spec.Stopped {
				w.wake(task.HostID)
			}
		}
	}
}

// fireAll wakes everybody.
func (w *watches) fireAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for hostID := range w.byHost {
		w.wake(hostID)
	}
}

func (w *watches) wake(hostID string) {
	if waiting := w.byHost[hostID]; waiting != nil {
		close(waiting)
		delete(w.byHost, hostID)
	}
}
