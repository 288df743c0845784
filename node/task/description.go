package task

import (
	"time"

	"pinion/raftfsm/spec"
)

// Description is a container and its task as they stand.
type Description struct {
	Task       *spec.Task           // as it was assigned
	Tags       []spec.Tag           // of the task, as the pool has told them last
	Definition *spec.TaskDefinition // effective
	Report     spec.TaskReport
	Container  spec.ContainerReport
	StartedAt  time.Time    // of the container's process, first; zero: it was not started yet
	FinishedAt time.Time    // when it ended for good; zero: it has not
	Ended      bool         // for good
	Restarts   int64        // by its restart policy, since the agent was started
	Restarted  int64        // by its restart policy, since its task began
	Siblings   []*Container // all containers of the task, this one too, in the order of its definition
}

// Describe describes a container. It may be called at any time.
func Describe(c *Container) Description {
	d := Description{Task: c.runner.task, Tags: *c.runner.updates.tags.Load(), Definition: c.runner.def, Report: c.runner.report.snapshot(), Siblings: c.runner.containers}
	d.Container = d.Report.Containers[c.index]
	d.Ended, d.Restarts = c.exited.happened(), c.restarted.Load()
	d.Restarted = c.restartedBefore + d.Restarts
	if d.Ended {
		d.FinishedAt = c.finishedAt
	}
	if c.started.happened() {
		d.StartedAt = c.startedAt
	}
	return d
}

// ContainersOf are the containers of a task, in the order of its definition.
func ContainersOf(r *Runner) []*Container { return r.containers }

// VolumesOf are the volumes of a task.
func VolumesOf(r *Runner) []spec.Volume { return r.def.Volumes }

// DirOf is the directory of a container's files on this host. It goes with the task.
func DirOf(c *Container) string { return c.runner.dir.containerDir(c.ID) }
