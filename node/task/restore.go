package task

import (
	"context"
	"time"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// restore is the first step: it takes over what is there of the task from before a restart of the agent. Running
// containers run on, ended ones keep their exit. It starts nothing.
//
// A request to stop comes first, so that a container that ended because of it does not become the task's reason.
func (r *Runner) restore(ctx context.Context) {
	stopping := r.task.LastStatus.Rank() >= spec.Stopping.Rank() && r.task.StopCode != ""
	if stopping || r.task.DesiredStatus == spec.Stopped {
		r.RequestStop(r.task)
	}
	restored := false
	for _, c := range r.containers {
		if c.restore(ctx) {
			restored = true
		}
	}
	if restored {
		r.queueReport()
	}
}

// restore reports whether there was anything of the container.
func (c *Container) restore(ctx context.Context) bool {
	known := c.report()
	switch {
	case c.existing == nil && known.Status.Rank() < spec.Running.Rank():
		return false
	case c.restartInterrupted(known):
		return false
	case c.existing == nil:
		c.markMissing(known)
	case c.existing.StartedAt.IsZero() && c.existing.Exit == nil && known.Status.Rank() >= spec.Running.Rank() && !c.restarts():
		c.remove(ctx) // the note of its start did not reach the disk before the machine lost power
		c.existing = nil
		c.markMissing(known)
	case c.existing.StartedAt.IsZero() && c.existing.Exit == nil:
		c.remove(ctx) // its process was never started: it is made again, properly
		c.existing = nil
	case c.existing.Exit != nil && c.shouldRestart(*c.existing.Exit, c.existing.StartedAt):
		countRestart(c)
		c.remove(ctx)
		c.existing = nil
	default:
		c.reattach(ctx)
	}
	return true
}

// markMissing ends a container that the pool knows as started and that is not on this host any more. It is not started
// again. Its exit is known only if it was reported before.
func (c *Container) markMissing(known spec.ContainerReport) {
	c.markStarted(time.Now())
	exit := runtime.LostExit(lostReason)
	if known.ExitCode != nil {
		exit = runtime.Exit{Code: *known.ExitCode, At: exit.At}
	}
	c.recordExit(exit)
}

// reattach continues with a container that was found.
func (c *Container) reattach(ctx context.Context) {
	c.markStarted(c.existing.StartedAt)
	if c.report().Health == spec.Healthy {
		c.healthy.set()
	}
	c.updateReport(func(report *spec.ContainerReport) {
		report.Status = maxStatus(report.Status, spec.Running)
		report.RuntimeID, report.ImageDigest = c.ID, c.existing.Image.Digest
	})
	if c.existing.Exit != nil {
		c.recordExit(*c.existing.Exit)
		return
	}
	c.runner.log.Info("container runs on", "container", c.Def.Name, "pid", c.existing.PID)
	for _, hook := range c.runner.hooks {
		if h, ok := hook.(ReattachHook); ok {
			h.Reattach(ctx, c)
		}
	}
	c.supervise(ctx, c.existing.StartedAt)
}
