package raftfsm

import (
	"cmp"
	"slices"

	"pinion/raftfsm/spec"
)

// ReportTasks takes a host's reports. A report of a task that is unknown, of another host, or STOPPED already while
// the host still has it, changes nothing; the task is named in the answer, so the host can stop it. Status only grows.
// Answer: []string, the ids of those tasks.
type ReportTasks struct {
	HostID  string
	Reports []spec.TaskReport
}

func (c ReportTasks) apply(tx *tx) (any, error) {
	unknown := []string{}
	for _, report := range c.Reports {
		known := tx.Task(report.TaskID)
		if known == nil || known.HostID != c.HostID {
			unknown = append(unknown, report.TaskID)
			continue
		}
		if known.LastStatus == spec.Stopped {
			if report.Status != spec.Stopped {
				unknown = append(unknown, report.TaskID)
			}
			continue
		}
		if task := mergeReport(known, report); task.LastStatus != known.LastStatus || !equal(task, known) { // most are of a new status
			task.Version++
			tx.put(tableTasks, task)
		}
	}
	return unknown, nil
}

// mergeReport is the task with the report merged in.
func mergeReport(t *spec.Task, r spec.TaskReport) *spec.Task {
	task := *t
	task.LastStatus = laterStatus(t.LastStatus, r.Status)
	task.Times = mergeTimes(t.Times, r.Times)
	if task.StopCode == "" && (r.StopCode != "" || r.StoppedReason != "") {
		task.StopCode, task.StoppedReason = r.StopCode, r.StoppedReason // one pair: whoever stopped it says why
	}
	task.Containers = slices.Clone(t.Containers)
	for _, report := range r.Containers {
		for i := range task.Containers {
			if task.Containers[i].Name == report.Name {
				mergeContainer(&task.Containers[i], report)
			}
		}
	}
	if task.LastStatus.Rank() >= spec.Stopping.Rank() {
		task.DesiredStatus = spec.Stopped
	}
	if task.LastStatus == spec.Stopped {
		markStopped(&task)
		setStopCode(&task)
	}
	return &task
}

// setStopCode gives a task that stopped without a code the one that its times show.
func setStopCode(t *spec.Task) {
	switch {
	case t.StopCode != "":
	case t.Times.Started.IsZero():
		t.StopCode = spec.StopFailedToStart
	default:
		t.StopCode = spec.StopEssentialExited
		t.StoppedReason = cmp.Or(t.StoppedReason, "Essential container in task exited")
	}
}

func mergeTimes(t, r spec.TaskTimes) spec.TaskTimes {
	return spec.TaskTimes{
		PullStarted:      cmp.Or(r.PullStarted, t.PullStarted),
		PullStopped:      cmp.Or(r.PullStopped, t.PullStopped),
		Started:          cmp.Or(r.Started, t.Started),
		Stopping:         cmp.Or(t.Stopping, r.Stopping), // the wish to stop came first
		ExecutionStopped: cmp.Or(r.ExecutionStopped, t.ExecutionStopped),
		Stopped:          cmp.Or(r.Stopped, t.Stopped),
	}
}

func mergeContainer(c *spec.Container, r spec.ContainerReport) {
	c.LastStatus = laterStatus(c.LastStatus, r.Status)
	c.ExitCode = cmp.Or(r.ExitCode, c.ExitCode)
	c.Reason = cmp.Or(r.Reason, c.Reason)
	c.RuntimeID = cmp.Or(r.RuntimeID, c.RuntimeID)
	c.ImageDigest = cmp.Or(r.ImageDigest, c.ImageDigest)
	c.Health = cmp.Or(r.Health, c.Health)
	if len(r.Bindings) > 0 {
		c.Bindings = r.Bindings
	}
}

// laterStatus is the status that comes later in a life; an unknown one comes before all others.
func laterStatus(known, reported spec.Status) spec.Status {
	if reported.Rank() > known.Rank() {
		return reported
	}
	return known
}
