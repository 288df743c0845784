package task

import (
	"slices"
	"sync"

	"pinion/raftfsm/spec"
)

// report is the task as the pool shall know it. Its status only grows.
type report struct {
	mu     sync.Mutex
	report spec.TaskReport
}

// update changes the report. A status never goes back.
func (r *report) update(change func(*spec.TaskReport)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.report.Status
	change(&r.report)
	r.report.Status = maxStatus(before, r.report.Status)
}

// snapshot is the report as it stands, safe to keep.
func (r *report) snapshot() spec.TaskReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.report
	report.Containers = slices.Clone(report.Containers)
	return report
}

// container is one container's part of the report as it stands.
func (r *report) container(index int) spec.ContainerReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report.Containers[index]
}

func maxStatus(a, b spec.Status) spec.Status {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}
