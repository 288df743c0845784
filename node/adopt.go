package node

import (
	"context"
	"time"

	"pinion/raftfsm/spec"
)

// adopt takes up what is there of the task from before a restart of the agent: running containers run on, ended ones
// keep their exit. Nothing is started here.
//
// The wish to stop comes first, so that containers that ended because of it do not pass for the cause.
func (r *runner) adopt(ctx context.Context) {
	stopping := r.task.LastStatus.Rank() >= spec.Stopping.Rank() && r.task.StopCode != ""
	if stopping || r.task.DesiredStatus == spec.Stopped {
		r.halt(r.task)
	}
	adopted := false
	for _, c := range r.containers {
		known := r.reported(c)
		switch {
		case c.found == nil && known.Status.Rank() < spec.Running.Rank():
			continue
		case r.wasRestarting(c, known):
			continue
		case c.found == nil:
			r.miss(c, known)
		case c.found.StartedAt.IsZero() && c.found.Exit == nil:
			r.clear(ctx, c) // its process was never started: it is made again, properly
			c.found = nil
		case c.found.Exit != nil && r.restarts(c, *c.found.Exit, c.found.StartedAt):
			r.clear(ctx, c)
			c.found = nil
		default:
			r.take(ctx, c)
		}
		adopted = true
	}
	if adopted {
		r.publish()
	}
}

// miss deals with a container that the cluster knows as started and that is not on this host any more. It is not
// started again: it has ended, and how is only known if it was reported before.
func (r *runner) miss(c *container, known spec.ContainerReport) {
	c.begin(time.Now())
	exit := lost("the container is not on this host any more")
	if known.ExitCode != nil {
		exit = Exit{Code: *known.ExitCode, At: exit.At}
	}
	r.exited(c, exit)
}

func (r *runner) take(ctx context.Context, c *container) {
	c.begin(c.found.StartedAt)
	if r.reported(c).Health == spec.Healthy {
		c.healthy.close()
	}
	r.update(func(report *spec.TaskReport) {
		mine := &report.Containers[c.index]
		mine.Status = later(mine.Status, spec.Running)
		mine.RuntimeID, mine.ImageDigest = c.id, c.found.Image.Digest
	})
	if c.found.Exit != nil {
		r.exited(c, *c.found.Exit)
		return
	}
	r.log.Info("container runs on", "container", c.def.Name, "pid", c.found.PID)
	r.rebind(ctx, c)
	r.await(ctx, c, c.found.StartedAt)
}

// rebind asks the network for the ports of a running container: their report may not have been heard.
func (r *runner) rebind(ctx context.Context, c *container) {
	if r.mode != networkBridge || len(c.def.PortMappings) == 0 {
		return
	}
	place, err := r.node.config.Network.Attach(ctx, c.id, c.def.PortMappings)
	if err != nil {
		r.log.Warn("published ports of a running container cannot be told", "container", c.def.Name, "err", err)
		return
	}
	r.update(func(report *spec.TaskReport) { report.Containers[c.index].Bindings = place.Bindings })
}
