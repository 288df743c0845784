package schedule

import (
	"time"

	"pinion/raftfsm/spec"
)

// newTask is the only constructor of a task record: version 1 of a task that is to run and holds the demand, without a place
// and a past. What it is to do is filled in from a request (evaluation.task) or from an earlier attempt (RetryTask).
func newTask(cluster string, d *spec.Demand, status spec.Status, at time.Time) *spec.Task {
	return &spec.Task{
		Cluster:       cluster,
		CPU:           d.CPU,
		MemoryMiB:     d.MemoryMiB,
		Ports:         d.Ports,
		UDPPorts:      d.UDPPorts,
		LastStatus:    status,
		DesiredStatus: spec.Running,
		Version:       1,
		CreatedAt:     at,
	}
}

// newContainer is the record of a container of a new task, with the task's status.
func newContainer(id, name, image string, status spec.Status) spec.Container {
	return spec.Container{ID: uuid(id), Name: name, Image: image, LastStatus: status}
}
