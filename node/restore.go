package node

import (
	"context"
	"time"

	"pinion/raftfsm/spec"
)

// restore takes up what is there of the task from before a restart of the agent: running containers run on, ended ones
// keep their exit. Nothing is started here.
//
// The wish to stop comes first, so that containers that ended because of it do not pass for the cause.
func (r *runner) restore(ctx context.Context) {
	stopping := r.task.LastStatus.Rank() >= spec.Stopping.Rank() && r.task.StopCode != ""
	if stopping || r.task.DesiredStatus == spec.Stopped {
		r.requestStop(r.task)
	}
	adopted := false
	for _, c := range r.containers {
		known := r.containerReport(c)
		switch {
		case c.existing == nil && known.Status.Rank() < spec.Running.Rank():
			continue
		case r.restartInterrupted(c, known):
			continue
		case c.existing == nil:
			r.markMissing(c, known)
		case c.existing.StartedAt.IsZero() && c.existing.Exit == nil:
			r.removeContainer(ctx, c) // its process was never started: it is made again, properly
			c.existing = nil
		case c.existing.Exit != nil && r.shouldRestart(c, *c.existing.Exit, c.existing.StartedAt):
			r.removeContainer(ctx, c)
			c.existing = nil
		default:
			r.reattach(ctx, c)
		}
		adopted = true
	}
	if adopted {
		r.queueReport()
	}
}

// markMissing deals with a container that the cluster knows as started and that is not on this host any more. It is not
// started again: it has ended, and how is only known if it was reported before.
func (r *runner) markMissing(c *container, known spec.ContainerReport) {
	c.markStarted(time.Now())
	exit := lostExit("the container is not on this host any more")
	if known.ExitCode != nil {
		exit = Exit{Code: *known.ExitCode, At: exit.At}
	}
	r.exited(c, exit)
}

func (r *runner) reattach(ctx context.Context, c *container) {
	c.markStarted(c.existing.StartedAt)
	if r.containerReport(c).Health == spec.Healthy {
		c.healthy.close()
	}
	r.updateReport(func(report *spec.TaskReport) {
		containerReport := &report.Containers[c.index]
		containerReport.Status = maxStatus(containerReport.Status, spec.Running)
		containerReport.RuntimeID, containerReport.ImageDigest = c.id, c.existing.Image.Digest
	})
	if c.existing.Exit != nil {
		r.exited(c, *c.existing.Exit)
		return
	}
	r.log.Info("container runs on", "container", c.def.Name, "pid", c.existing.PID)
	r.restoreBindings(ctx, c)
	r.supervise(ctx, c, c.existing.StartedAt)
}

// restoreBindings asks the network for the ports of a running container: their report may not have been heard.
func (r *runner) restoreBindings(ctx context.Context, c *container) {
	if r.mode != networkBridge || len(c.def.PortMappings) == 0 {
		return
	}
	attachment, err := r.node.config.Network.Attach(ctx, c.id, c.def.PortMappings)
	if err != nil {
		r.log.Warn("published ports of a running container cannot be told", "container", c.def.Name, "err", err)
		return
	}
	r.updateReport(func(report *spec.TaskReport) { report.Containers[c.index].Bindings = attachment.Bindings })
}
