package raftfsm

import (
	"cmp"
	"slices"
	"time"
)

// Assignment is a task as its host must run it. Overrides are already merged into Definition (see Effective).
type Assignment struct {
	Task       *Task
	Definition *TaskDefinition
}

// TaskReport is a host's whole view of one of its tasks: the latest, not the history. Fields that have not happened
// are zero; a zero field never erases what was reported before.
type TaskReport struct {
	TaskID        string            `json:"taskId" compact:"own"`
	Status        Status            `json:"status"`
	StopCode      StopCode          `json:"stopCode,omitempty"`
	StoppedReason string            `json:"stoppedReason,omitempty"`
	Times         TaskTimes         `json:"times"`
	Containers    []ContainerReport `json:"containers"`
}

// ContainerReport is the part of a container that its host knows.
type ContainerReport struct {
	Name        string           `json:"name"`
	Status      Status           `json:"status"`
	ExitCode    *int             `json:"exitCode,omitempty"`
	Reason      string           `json:"reason,omitempty"` // at most 1024 characters
	RuntimeID   string           `json:"runtimeId,omitempty"`
	ImageDigest string           `json:"imageDigest,omitempty"`
	Bindings    []NetworkBinding `json:"bindings,omitempty"`
	Health      Health           `json:"health,omitempty"` // of a container with a health check; level 3, as those are
}

// LogLine is one line that a container wrote.
type LogLine struct {
	Time      time.Time `json:"time"`
	Container string    `json:"container"`
	Stream    string    `json:"stream"` // stdout or stderr
	Text      string    `json:"text"`   // without the line end
}

// LogQuery selects lines of one task.
type LogQuery struct {
	Task      string
	Container string    // empty: all containers, merged by time
	Since     time.Time // zero: from the beginning
	Tail      int       // only the last n lines of what is there; 0: all
	Follow    bool      // wait for more until the task's containers are gone and drained
}

// Pull is how far a task's image pull has come.
type Pull struct {
	Image string `json:"image"`
	Done  int64  `json:"done"`  // bytes here
	Total int64  `json:"total"` // bytes in all, 0 while unknown
}

// ReportTasks takes a host's reports. A report of a task that is unknown, of another host, or STOPPED already while
// the host still has it, changes nothing; the task is named in the answer, so the host can stop it. Status only grows.
// Answer: []string, the ids of those tasks.
type ReportTasks struct {
	HostID  string
	Reports []TaskReport
}

func (c ReportTasks) apply(tx *tx) (any, error) {
	unknown := []string{}
	for _, report := range c.Reports {
		known := tx.Task(report.TaskID)
		if known == nil || known.HostID != c.HostID {
			unknown = append(unknown, report.TaskID)
			continue
		}
		if known.LastStatus == Stopped {
			if report.Status != Stopped {
				unknown = append(unknown, report.TaskID)
			}
			continue
		}
		if task := known.reported(report); task.LastStatus != known.LastStatus || !same(task, known) { // most are of a new status
			task.Version++
			tx.put(tableTasks, task)
		}
	}
	return unknown, nil
}

// reported is the task with the report merged in.
func (t *Task) reported(r TaskReport) *Task {
	task := *t
	task.LastStatus = higher(t.LastStatus, r.Status)
	task.Times = t.Times.reported(r.Times)
	if task.StopCode == "" && (r.StopCode != "" || r.StoppedReason != "") {
		task.StopCode, task.StoppedReason = r.StopCode, r.StoppedReason // one pair: whoever stopped it says why
	}
	task.Containers = slices.Clone(t.Containers)
	for _, report := range r.Containers {
		for i := range task.Containers {
			if task.Containers[i].Name == report.Name {
				task.Containers[i].reported(report)
			}
		}
	}
	if task.LastStatus.Rank() >= Stopping.Rank() {
		task.DesiredStatus = Stopped
	}
	if task.LastStatus == Stopped {
		task.end()
		task.explainEnd()
	}
	return &task
}

// explainEnd gives a task that stopped without a word the code that its life shows.
func (t *Task) explainEnd() {
	switch {
	case t.StopCode != "":
	case t.Times.Started.IsZero():
		t.StopCode = StopFailedToStart
	default:
		t.StopCode = StopEssentialExited
		t.StoppedReason = cmp.Or(t.StoppedReason, "Essential container in task exited")
	}
}

func (t TaskTimes) reported(r TaskTimes) TaskTimes {
	return TaskTimes{
		PullStarted:      cmp.Or(r.PullStarted, t.PullStarted),
		PullStopped:      cmp.Or(r.PullStopped, t.PullStopped),
		Started:          cmp.Or(r.Started, t.Started),
		Stopping:         cmp.Or(t.Stopping, r.Stopping), // the wish to stop came first
		ExecutionStopped: cmp.Or(r.ExecutionStopped, t.ExecutionStopped),
		Stopped:          cmp.Or(r.Stopped, t.Stopped),
	}
}

func (c *Container) reported(r ContainerReport) {
	c.LastStatus = higher(c.LastStatus, r.Status)
	c.ExitCode = cmp.Or(r.ExitCode, c.ExitCode)
	c.Reason = cmp.Or(r.Reason, c.Reason)
	c.RuntimeID = cmp.Or(r.RuntimeID, c.RuntimeID)
	c.ImageDigest = cmp.Or(r.ImageDigest, c.ImageDigest)
	c.Health = cmp.Or(r.Health, c.Health)
	if len(r.Bindings) > 0 {
		c.Bindings = r.Bindings
	}
}

// higher is the status that comes later in a life; an unknown one comes before all others.
func higher(known, reported Status) Status {
	if reported.Rank() > known.Rank() {
		return reported
	}
	return known
}
