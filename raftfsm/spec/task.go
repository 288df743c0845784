package spec

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/traffic"
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
	ID            string              `json:"id" compact:"own"` // 32 hex digits, bound to one host for ever
	Cluster       string              `json:"cluster"`
	Definition    string              `json:"definition"` // family:revision
	HostID        string              `json:"hostId,omitempty"`
	Group         string              `json:"group"`
	StartedBy     string              `json:"startedBy,omitempty"`
	LaunchType    string              `json:"launchType"` // EC2 or EXTERNAL, as asked
	Overrides     Boxed[TaskOverride] `json:"overrides" compact:"same"`
	CPU           int64               `json:"cpu"`                // units held on the host
	MemoryMiB     int64               `json:"memoryMiB"`          // memory held on the host
	Ports         []int               `json:"ports,omitempty"`    // TCP ports held on the host
	UDPPorts      []int               `json:"udpPorts,omitempty"` // UDP ports held on the host
	Containers    []Container         `json:"containers"`
	LastStatus    Status              `json:"lastStatus"`
	DesiredStatus Status              `json:"desiredStatus"` // Running or Stopped, nothing else
	StopCode      StopCode            `json:"stopCode,omitempty"`
	StoppedReason string              `json:"stoppedReason,omitempty"`
	Tags          []Tag               `json:"tags,omitempty" compact:"same"`
	Version       int64               `json:"version"` // 1 at first, +1 with each change
	CreatedAt     time.Time           `json:"createdAt"`
	Times         TaskTimes           `json:"times"`

	CapacityProvider string      `json:"capacityProvider,omitempty"`    // the queue that it was run through
	Queue            *QueueSpec  `json:"wait,omitempty"`                // what its place has to meet; of tasks run through a queue
	Gang             *GangMember `json:"gang,omitempty"`                // its seat in a gang
	ArrayIndex       *int        `json:"arrayIndex,omitempty"`          // its number in an array, from 0
	RetryOf          string      `json:"retryOf,omitempty"`             // the first task whose work this one does again
	Attempt          int         `json:"attempt,omitempty"`             // how often it was tried before; 0 for the first
	Failed           int         `json:"failed,omitempty"`              // how many of those attempts failed; the others gave way
	ByAdmin          bool        `json:"byAdmin,omitempty" level:"1"`   // an access key of the role admin asked for it; see package isolation
	ForceStop        bool        `json:"forceStop,omitempty" level:"1"` // its containers are killed, without waiting for their stop timeouts

	Owner *TaskOwner `json:"owner,omitempty" compact:"same" level:"1"` // whose limits it counts for; nil: root's, through the socket

	// Run is the id of the first task of the RunTask that made this one, or the first attempt of it: the tasks of a run use the same
	// digests. Empty for a task that was made alone, and where no image is resolved once.
	Run string `json:"run,omitempty" level:"1"`

	Hold *TaskHold `json:"hold,omitempty" level:"1"` // keeps it out of the queue while it waits

	Service        *ServiceMember   `json:"service,omitempty" level:"1"`       // the service that it is a task of
	ProtectedUntil Boxed[time.Time] `json:"protectedUntil,omitzero" level:"1"` // its service does not stop it before, but for what has failed

	Targets []traffic.TargetHealth `json:"targets,omitempty" level:"1"` // what its host found of its targets, by group, container and port
	Drained bool                   `json:"drained,omitempty" level:"1"` // it is asked to stop, and no proxy has a request in flight to it

	Exec bool `json:"executeCommand,omitempty" level:"1"` // commands may be run in its containers: enableExecuteCommand
}

// ServiceMember is a task's record of the service that it belongs to.
type ServiceMember struct {
	ID         string `json:"id"`              // of the service
	Deployment string `json:"deployment"`      // of the service, 19 digits
	Noted      bool   `json:"noted,omitempty"` // it is STOPPED, and the service has taken that into account

	Host string `json:"host,omitempty" level:"1"` // of a DAEMON: the host that it is for

	Unhealthy bool `json:"unhealthy,omitempty" level:"1"` // its service has stopped it because it was
}

// TaskHold keeps a task that waits out of the queue until it is released.
type TaskHold struct {
	By     string    `json:"by"` // ARN of the principal
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	Admin  bool      `json:"admin,omitempty"` // who has not the role admin cannot release it
}

// String says who holds the task, since when, and why.
func (h *TaskHold) String() string {
	text := fmt.Sprintf("held by %s since %s", iam.PrincipalName(h.By), h.At.UTC().Format(time.RFC3339))
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text
}

// Held reports whether a task that waits is held.
func (t *Task) Held() bool { return t.LastStatus == Provisioning && t.Hold != nil }

// TaskOwner is the owner of the access key that ran a task.
type TaskOwner struct {
	Key  string `json:"key"`            // as accesskey.Key.Owner has it
	GPUs int    `json:"gpus,omitempty"` // that it asks for while it waits; AllHostGPUs: all of its host

	GPUMilli int `json:"gpuMilli,omitempty" level:"1"` // of a GPU that it asks to share while it waits, in thousandths
}

// AllHostGPUs as TaskOwner.GPUs is every GPU of a host that is not known yet.
const AllHostGPUs = -1

// KeyOwner is the owner of the access key that ran the task; empty for root.
func (t *Task) KeyOwner() string {
	if t.Owner == nil {
		return ""
	}
	return t.Owner.Key
}

// countedMilli returns the GPUs that the task counts for in a limit, in thousandths of one: those that it holds, or asks for while it waits.
func (t *Task) countedMilli() int {
	if t.HostID == "" && t.Owner != nil {
		return max(0, t.Owner.GPUs)*gpuuse.Milli + t.Owner.GPUMilli
	}
	return t.GPUMilli()
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

// Container is one container of a task. Name, ID, GPUs, Share and MIGMilli are fixed at placement; the rest is the host's report.
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
	Health      Health           `json:"health,omitempty"`               // as its health check found last
	PeakMemory  int64            `json:"peakMemory,omitempty" level:"1"` // bytes that it used at most; 0 while it runs, and where its kernel does not tell

	Share *GPUShare `json:"gpuShare,omitempty" level:"1"` // of its one GPU; nil: it owns all of each

	GPUTotals *gpuuse.Totals `json:"gpuTotals,omitempty" level:"1"` // so far, as its host reported it last; nil: nothing was measured

	MIGMilli int `json:"migMilli,omitempty" level:"1"` // what its GPUs count for, in thousandths of one, when they are MIG devices; 0: they are whole

	Address string `json:"address,omitempty" level:"1"` // IPv4 address of its task, of networkMode awsvpc
}

// GPUTotals returns the use of GPUs by the containers of the task.
func (t *Task) GPUTotals() (sum gpuuse.Totals) {
	for i := range t.Containers {
		if totals := t.Containers[i].GPUTotals; totals != nil {
			sum = sum.Plus(*totals)
		}
	}
	return sum
}

// NetworkBinding is a published port.
type NetworkBinding struct {
	BindIP        string `json:"bindIP"`
	ContainerPort int    `json:"containerPort,omitempty"`
	HostPort      int    `json:"hostPort,omitempty"`
	Protocol      string `json:"protocol"`
	// Of a range of ports, which has neither port above.
	ContainerPortRange string `json:"containerPortRange,omitempty" level:"1"`
	HostPortRange      string `json:"hostPortRange,omitempty" level:"1"`
}

// Drains reports whether the task is to stop and its containers run on for the requests that are in flight to its targets.
func (t *Task) Drains() bool {
	return t.DesiredStatus == Stopped && t.LastStatus == Running && len(t.Targets) > 0 && !t.Drained && !t.ForceStop
}

// GPUs lists the UUIDs of all the task's containers; one that several of them share is in it once.
func (t *Task) GPUs() []string {
	var all []string
	for i := range t.Containers {
		if c := &t.Containers[i]; c.Share == nil || len(c.GPUs) > 0 && !slices.Contains(all, c.GPUs[0]) {
			all = append(all, c.GPUs...)
		}
	}
	return all
}
