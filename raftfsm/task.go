package raftfsm

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Status is ECS's task and container status. A task's last status only grows in the order of the constants.
type Status string

// Statuses in the order in which a task goes through them.
const (
	Provisioning Status = "PROVISIONING" // recorded, waits for a place
	Pending      Status = "PENDING"      // placed: its host pulls and creates
	Running      Status = "RUNNING"
	Stopping     Status = "STOPPING" // asked to stop, containers still there
	Stopped      Status = "STOPPED"  // every container gone, every GPU proven free
)

// Rank orders the statuses; a report of a lower rank than what is stored changes nothing. An unknown status is -1.
func (s Status) Rank() int {
	switch s {
	case Provisioning:
		return 0
	case Pending:
		return 1
	case Running:
		return 2
	case Stopping:
		return 3
	case Stopped:
		return 4
	}
	return -1
}

// StopCode is ECS's reason class for a stopped task.
type StopCode string

// Stop codes, verbatim from ECS.
const (
	StopFailedToStart   StopCode = "TaskFailedToStart"
	StopEssentialExited StopCode = "EssentialContainerExited"
	StopUserInitiated   StopCode = "UserInitiated"
	StopScheduler       StopCode = "ServiceSchedulerInitiated" // the pool: its gang ended, or what it waited for failed
	StopPreempted       StopCode = "SpotInterruption"          // it gave way to a task of higher priority, and waits again
)

// Task is one running instance of a task definition on one host. What it holds of its host (CPU, memory, ports, GPUs)
// is written when it is placed and never changes; the free resources of a host are always derived from its tasks.
type Task struct {
	ID            string       `json:"id" compact:"own"` // 32 hex digits, bound to one host for ever
	Cluster       string       `json:"cluster"`
	Definition    string       `json:"definition"` // family:revision
	HostID        string       `json:"hostId,omitempty"`
	Group         string       `json:"group"`
	StartedBy     string       `json:"startedBy,omitempty"`
	LaunchType    string       `json:"launchType"` // EC2 or EXTERNAL, as asked
	Overrides     TaskOverride `json:"overrides" compact:"same"`
	CPU           int64        `json:"cpu"`                // units held on the host
	MemoryMiB     int64        `json:"memoryMiB"`          // memory held on the host
	Ports         []int        `json:"ports,omitempty"`    // TCP ports held on the host
	UDPPorts      []int        `json:"udpPorts,omitempty"` // UDP ports held on the host
	Containers    []Container  `json:"containers"`
	LastStatus    Status       `json:"lastStatus"`
	DesiredStatus Status       `json:"desiredStatus"` // Running or Stopped, nothing else
	StopCode      StopCode     `json:"stopCode,omitempty"`
	StoppedReason string       `json:"stoppedReason,omitempty"`
	Tags          []Tag        `json:"tags,omitempty" compact:"same"`
	Version       int64        `json:"version"` // 1 at first, +1 with each change
	CreatedAt     time.Time    `json:"createdAt"`
	Times         TaskTimes    `json:"times"`

	CapacityProvider string `json:"capacityProvider,omitempty"` // the queue that it was run through
	Wait             *Wait  `json:"wait,omitempty"`             // what its place has to meet; of tasks run through a queue
	Gang             *Seat  `json:"gang,omitempty"`             // its seat in a gang
	ArrayIndex       *int   `json:"arrayIndex,omitempty"`       // its number in an array, from 0
	RetryOf          string `json:"retryOf,omitempty"`          // the first task whose work this one does again
	Attempt          int    `json:"attempt,omitempty"`          // how often it was tried before; 0 for the first
	Failed           int    `json:"failed,omitempty"`           // how many of those attempts failed; the others gave way
}

// TaskTimes are the moments of a task's life as ECS names them; zero while they have not happened.
type TaskTimes struct {
	PullStarted      time.Time `json:"pullStarted,omitzero"`
	PullStopped      time.Time `json:"pullStopped,omitzero"`
	Started          time.Time `json:"started,omitzero"`
	Stopping         time.Time `json:"stopping,omitzero"`
	ExecutionStopped time.Time `json:"executionStopped,omitzero"`
	Stopped          time.Time `json:"stopped,omitzero"`
}

// Container is one container of a task. Name, ID and GPUs are fixed at placement; the rest is the host's report.
type Container struct {
	ID          string           `json:"id" compact:"own"` // UUID of ECS's container ARN
	Name        string           `json:"name"`
	Image       string           `json:"image"`
	GPUs        []string         `json:"gpus,omitempty"` // UUIDs this container owns while the task is not STOPPED
	LastStatus  Status           `json:"lastStatus"`
	ExitCode    *int             `json:"exitCode,omitempty"`
	Reason      string           `json:"reason,omitempty"`
	RuntimeID   string           `json:"runtimeId,omitempty" compact:"own"`
	ImageDigest string           `json:"imageDigest,omitempty"`
	Bindings    []NetworkBinding `json:"bindings,omitempty"`
	Health      Health           `json:"health,omitempty"` // as its health check found last
}

// NetworkBinding is a published port.
type NetworkBinding struct {
	BindIP        string `json:"bindIP"`
	ContainerPort int    `json:"containerPort"`
	HostPort      int    `json:"hostPort"`
	Protocol      string `json:"protocol"`
}

// GPUs lists the UUIDs of all the task's containers.
func (t *Task) GPUs() []string {
	var all []string
	for i := range t.Containers {
		all = append(all, t.Containers[i].GPUs...)
	}
	return all
}

// StopTask sets the desired status to STOPPED. A task that has no host yet is STOPPED at once. Stopping a task again changes
// nothing, but that a user's stop takes the place of the pool's while the task is not STOPPED: what a user has stopped is
// not done again. ErrNotFound. Answer: *Task.
type StopTask struct {
	ID     string
	Code   StopCode
	Reason string
	At     time.Time
}

func (c StopTask) apply(tx *tx) (any, error) {
	known := tx.Task(c.ID)
	if known == nil {
		return nil, fmt.Errorf("task %q: %w", c.ID, ErrNotFound)
	}
	if known.DesiredStatus == Stopped && !(c.Code == StopUserInitiated && known.stoppedByPool()) {
		return known, nil
	}
	task := *known
	task.DesiredStatus, task.StopCode, task.StoppedReason = Stopped, c.Code, c.Reason
	task.Times.Stopping = cmp.Or(known.Times.Stopping, c.At)
	if task.HostID == "" {
		task.Times.Stopped = c.At
		task.end()
	}
	task.Version++
	tx.put(tableTasks, &task)
	return &task, nil
}

// stoppedByPool reports whether the pool is stopping the task, which may mean to do its work again.
func (t *Task) stoppedByPool() bool {
	return t.LastStatus != Stopped && (t.StopCode == StopScheduler || t.StopCode == StopPreempted)
}

// end makes the task STOPPED: its containers are gone, and what it held is free from now on.
func (t *Task) end() {
	t.LastStatus, t.DesiredStatus = Stopped, Stopped
	t.Containers = slices.Clone(t.Containers)
	for i := range t.Containers {
		t.Containers[i].LastStatus = Stopped
	}
}

// Reap forgets tasks that stopped before Before, unless their gang goes on, clusters that were deleted before that, task
// definitions that were deleted and have no task any more, and client tokens and join tokens that were used or ended before
// TokensBefore. With Usage, which is of level 3, the GPU time of the tasks is remembered by team. Answer: int, the number of
// tasks forgotten.
type Reap struct {
	Before, TokensBefore time.Time
	Usage                bool `json:",omitempty"`
}

func (c Reap) level() int {
	if c.Usage {
		return 3
	}
	return 1
}

// triedAgain says whether the work of a task that stopped goes on as another task: who waits for that work may know it by any
// of the tasks that did it, and so may a client token.
func (v *View) triedAgain(t *Task) bool {
	last := tasksByAttempt.last(v, cmp.Or(t.RetryOf, t.ID))
	return last != nil && last.LastStatus != Stopped
}

func (c Reap) apply(tx *tx) (any, error) {
	var forgotten []*Task
	gangs := map[string]bool{}
	for task := range tasksStopped.all(&tx.View) {
		if !task.Times.Stopped.Before(c.Before) {
			break // in the order of the moments they stopped
		}
		if task.Gang != nil && tx.goesOn(task.Gang.ID, gangs) || tx.triedAgain(task) {
			continue
		}
		tx.remove(tableTasks, task)
		forgotten = append(forgotten, task)
	}
	if c.Usage {
		tx.account(forgotten, c.Before)
	}
	for used := range tokensByAge.all(&tx.View) {
		if !used.At.Before(c.TokensBefore) {
			break
		}
		tx.remove(tableTokens, used)
	}
	tx.forgetTokens(c.TokensBefore)
	tx.forgetClusters(c.Before)
	tx.forgetProviders(c.Before)
	tx.forgetDefinitions()
	return len(forgotten), nil
}
