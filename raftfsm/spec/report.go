package spec

import (
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/traffic"
)

// Assignment is a task as its host must run it. Overrides are already merged into Definition (see Effective).
type Assignment struct {
	Task       *Task
	Definition *TaskDefinition
	// ClusterRules are those of the task's cluster. They count when the task comes to its host: what is started already stays as it is.
	ClusterRules
}

// TaskReport is a host's whole view of one of its tasks: the latest, not the history. Fields that have not happened
// are zero; a zero field never erases what was reported before.
type TaskReport struct {
	TaskID        string                 `json:"taskId" compact:"own"`
	Status        Status                 `json:"status"`
	StopCode      StopCode               `json:"stopCode,omitempty"`
	StoppedReason string                 `json:"stoppedReason,omitempty"`
	Times         TaskTimes              `json:"times"`
	Containers    []ContainerReport      `json:"containers"`
	Targets       []traffic.TargetHealth `json:"targets,omitempty" level:"1"` // of those of its targets whose health is known
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
	Health      Health           `json:"health,omitempty"`               // of a container with a health check
	PeakMemory  int64            `json:"peakMemory,omitempty" level:"1"` // bytes that it used at most; 0 while that is not known
	GPUTotals   *gpuuse.Totals   `json:"gpuTotals,omitempty" level:"1"`  // so far; nil: nothing was measured
	Address     string           `json:"address,omitempty" level:"1"`    // IPv4 address of its task, of networkMode awsvpc
}
