package task

import (
	"slices"
	"strings"
	"sync"

	"pinion/raftfsm/spec"
)

// report is the task as the pool shall know it. Its status only grows.
type report struct {
	dir    string // of the host, which those who read reasons have no business with
	mu     sync.Mutex
	report spec.TaskReport
}

// update changes the report. A status never goes back. Reasons come from runc and containerd too, which name paths below the host's
// directory: its place is left out, and the log of the host has it.
func (r *report) update(change func(*spec.TaskReport)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.report.Status
	change(&r.report)
	r.report.Status = maxStatus(before, r.report.Status)
	r.report.StoppedReason = r.hide(r.report.StoppedReason)
	for i := range r.report.Containers {
		r.report.Containers[i].Reason = r.hide(r.report.Containers[i].Reason)
	}
}

func (r *report) hide(reason string) string {
	if r.dir == "" {
		return reason
	}
	return strings.ReplaceAll(reason, r.dir, "DATA-DIR")
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
