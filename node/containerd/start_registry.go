package containerd

import "sync"

// startRegistry tracks the starts in progress: at most one for each container id, and a count for each task, so that a
// task's cgroup is not removed during a start.
type startRegistry struct {
	mu    sync.Mutex
	ids   map[string]bool
	tasks map[string]int
}

func newStartRegistry() *startRegistry {
	return &startRegistry{ids: map[string]bool{}, tasks: map[string]int{}}
}

// begin registers a start; false when one of the same id is in progress.
func (r *startRegistry) begin(id, taskID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids[id] {
		return false
	}
	r.ids[id] = true
	r.tasks[taskID]++
	return true
}

func (r *startRegistry) end(id, taskID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ids, id)
	if r.tasks[taskID]--; r.tasks[taskID] == 0 {
		delete(r.tasks, taskID)
	}
}

// ifIdle calls f if the task has no other start in progress than the caller's own; none can begin during f.
func (r *startRegistry) ifIdle(taskID string, own int, f func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tasks[taskID] > own {
		return nil
	}
	return f()
}
