package containerd

import "sync"

// startRegistry knows the starts under way: one at a time for each container id, counted for each task, so that a task's
// cgroup is not removed under a start.
type startRegistry struct {
	mu    sync.Mutex
	ids   map[string]bool
	tasks map[string]int
}

func newStartRegistry() *startRegistry {
	return &startRegistry{ids: map[string]bool{}, tasks: map[string]int{}}
}

// begin notes a start; false when one of the id is under way.
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

// ifIdle calls f when no start of the task is under way apart from the caller's own; none begins meanwhile.
func (r *startRegistry) ifIdle(taskID string, own int, f func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tasks[taskID] > own {
		return nil
	}
	return f()
}
