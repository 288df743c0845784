package raftfsm

import (
	"slices"
	"sync"

	"pinion/raftfsm/spec"
)

// hostWatches wake those who wait for the tasks of a host.
type hostWatches struct {
	mu     sync.Mutex
	byHost map[string]chan struct{}
}

// watch is closed when what live lists, the tasks of the host in view, may have changed since.
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

// notify wakes who waits for a host of the changed tasks. What changed is in the state already.
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

// notifyAll wakes everybody.
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
