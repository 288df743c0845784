package spec

import (
	"cmp"
	"slices"
	"time"

	"pinion/raftfsm/traffic"
)

// WithReport is the task with a report of its host merged in: its status only grows, and a zero field of the report erases nothing.
func (t *Task) WithReport(r TaskReport) *Task {
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
	task.Targets = traffic.MergeHealth(t.Targets, r.Targets)
	if task.LastStatus.Rank() >= Stopping.Rank() {
		task.DesiredStatus = Stopped
	}
	if task.LastStatus == Stopped {
		task.MarkStopped()
		task.setStopCode()
	}
	return &task
}

// setStopCode gives a task that stopped without a code the one that its times show.
func (t *Task) setStopCode() {
	switch {
	case t.StopCode != "":
	case t.Times.Started.IsZero():
		t.StopCode = StopFailedToStart
	default:
		t.StopCode = StopEssentialExited
		t.StoppedReason = cmp.Or(t.StoppedReason, "Essential container in task exited")
	}
}

func mergeTimes(t, r TaskTimes) TaskTimes {
	return TaskTimes{
		PullStarted:      cmp.Or(r.PullStarted, t.PullStarted),
		PullStopped:      cmp.Or(r.PullStopped, t.PullStopped),
		Started:          cmp.Or(r.Started, t.Started),
		Stopping:         cmp.Or(t.Stopping, r.Stopping), // the wish to stop came first
		ExecutionStopped: cmp.Or(r.ExecutionStopped, t.ExecutionStopped),
		Stopped:          cmp.Or(r.Stopped, t.Stopped),
	}
}

func mergeContainer(c *Container, r ContainerReport) {
	c.LastStatus = laterStatus(c.LastStatus, r.Status)
	c.ExitCode = cmp.Or(r.ExitCode, c.ExitCode)
	c.Reason = cmp.Or(r.Reason, c.Reason)
	c.RuntimeID = cmp.Or(r.RuntimeID, c.RuntimeID)
	c.ImageDigest = cmp.Or(r.ImageDigest, c.ImageDigest)
	c.Health = cmp.Or(r.Health, c.Health)
	c.PeakMemory = max(r.PeakMemory, c.PeakMemory)
	c.GPUTotals = c.GPUTotals.Later(r.GPUTotals)
	c.Address = cmp.Or(r.Address, c.Address)
	if len(r.Bindings) > 0 {
		c.Bindings = r.Bindings
	}
}

// laterStatus is the status that comes later in a life; an unknown one comes before all others.
func laterStatus(known, reported Status) Status {
	if reported.Rank() > known.Rank() {
		return reported
	}
	return known
}

// DeclaredStopped is the task declared STOPPED without a report of its host, so without exit codes. An earlier stop code and reason
// stay.
func (t *Task) DeclaredStopped(at time.Time, reason string) *Task {
	task := *t
	task.Times.Stopping = cmp.Or(task.Times.Stopping, at)
	task.Times.Stopped = at
	if task.StopCode == "" {
		task.StoppedReason = cmp.Or(task.StoppedReason, reason)
	}
	task.MarkStopped()
	task.setStopCode()
	task.Version++
	return &task
}

// MarkStopped makes the task, which is a copy of its own, STOPPED: its containers are gone, and what it held is free from now on.
func (t *Task) MarkStopped() {
	t.LastStatus, t.DesiredStatus = Stopped, Stopped
	t.Containers = slices.Clone(t.Containers)
	for i := range t.Containers {
		t.Containers[i].LastStatus = Stopped
	}
}

// WithPlacement is the task at its place; nil when the placement is not about its containers.
func (t *Task) WithPlacement(p Placement) *Task {
	if max(len(p.GPUs), len(p.Shares), len(p.MIGMilli)) > len(t.Containers) {
		return nil
	}
	task := *t
	task.HostID, task.LastStatus = p.HostID, Pending
	task.Ports = append(task.Ports[:len(task.Ports):len(task.Ports)], p.Ports...)
	task.Containers = append([]Container(nil), t.Containers...)
	for i := range task.Containers {
		task.Containers[i].LastStatus = Pending
		if i < len(p.GPUs) {
			task.Containers[i].GPUs = p.GPUs[i]
			if n := len(p.GPUs[i]); n > 0 && p.OverrideGPUs {
				task.Overrides = Box(task.Overrides.Get().WithGPUs(task.Containers[i].Name, n))
			}
		}
		if i < len(p.Shares) && p.Shares[i] != (GPUShare{}) {
			task.Containers[i].Share = &p.Shares[i]
		}
		if i < len(p.MIGMilli) {
			task.Containers[i].MIGMilli = p.MIGMilli[i]
		}
	}
	if t.Gang != nil {
		seat := *t.Gang
		seat.Port = p.GangPort
		task.Gang = &seat
	}
	task.Version++
	return &task
}

// WithStop is the task that somebody stops: the task itself when that changes nothing. A user's stop replaces the pool's while the task is not
// STOPPED. Without a host it is STOPPED at once.
func (t *Task) WithStop(code StopCode, reason string, at time.Time, force bool) *Task {
	forced := force && !t.ForceStop && t.LastStatus != Stopped
	stopped := t.DesiredStatus == Stopped && !(code == StopUserInitiated && t.stoppedByPool())
	if stopped && !forced {
		return t
	}
	task := *t
	task.ForceStop = t.ForceStop || forced
	if !stopped {
		task.DesiredStatus, task.StopCode, task.StoppedReason = Stopped, code, reason
		task.Times.Stopping = cmp.Or(t.Times.Stopping, at)
	}
	if task.HostID == "" {
		task.Times.Stopped = at
		task.MarkStopped()
	}
	return &task
}

// stoppedByPool reports whether the pool is stopping the task, possibly to retry it.
func (t *Task) stoppedByPool() bool {
	return t.LastStatus != Stopped && (t.StopCode == StopScheduler || t.StopCode == StopPreempted)
}
