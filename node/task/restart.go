package task

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// defaultRestartPeriod is the time that a container must have run to be restarted, when its policy does not say.
const defaultRestartPeriod = 300 * time.Second

// errStopping is why nothing is started any more.
var errStopping = errors.New("the task is stopping")

// maybeRestart starts a container again that has ended by itself, when its restart policy asks for that. False when it
// stays ended. The container keeps its id, network and log; its file system begins anew from the image.
func (c *Container) maybeRestart(ctx context.Context, e runtime.Exit, since time.Time) bool {
	r := c.runner
	if !c.shouldRestart(e, since) {
		return false
	}
	r.log.Info("container is started again", "container", c.Def.Name, "exitCode", e.Code)
	c.remove(ctx)
	if err := c.restart(ctx); err != nil {
		if ctx.Err() == nil && !r.isStopping() {
			failRestart(c, err)
		}
		return false
	}
	countRestart(c)
	if r.isStopping() { // the signal to stop may have come while there was no process to hear it
		c.signal(ctx, syscall.SIGTERM)
	}
	return true
}

// countRestart counts a restart, also for the next start of the agent.
func countRestart(c *Container) {
	if err := c.runner.dir.keepRestarts(c.ID, c.restartedBefore+c.restarted.Add(1)); err != nil {
		c.runner.log.Warn("how often a container was started again is not kept: it counts from now after a restart of pinion", "container", c.Def.Name, "error", err)
	}
}

// failRestart notes why a container is not started again: that is its reason to have ended, and its task's when it is essential.
func failRestart(c *Container, err error) {
	r := c.runner
	r.log.Warn("container cannot be started again", "container", c.Def.Name, "error", err)
	c.updateReport(func(report *spec.ContainerReport) { report.Reason = runtime.Truncate(err.Error()) })
	if c.Def.IsEssential() {
		r.beginStop(spec.StopEssentialExited, err.Error())
	}
}

func (c *Container) restart(ctx context.Context) error {
	starts, err := c.runner.prestart(ctx, []*Container{c})
	if err != nil {
		return err
	}
	if c.runner.isStopping() {
		return errStopping
	}
	return c.start(ctx, starts[c])
}

// shouldRestart applies the restart policy to an exit.
func (c *Container) shouldRestart(e runtime.Exit, since time.Time) bool {
	policy := c.Def.RestartPolicy
	if policy == nil || !policy.Enabled || since.IsZero() || c.runner.isStopping() {
		return false
	}
	period := defaultRestartPeriod
	if policy.RestartAttemptPeriod != nil {
		period = seconds(*policy.RestartAttemptPeriod)
	}
	ran := max(0, e.At.Sub(since)) // it may have ended before its start was noted
	return ran >= period && !slices.Contains(policy.IgnoredExitCodes, e.Code)
}

// restarts reports whether the container has a restart policy.
func (c *Container) restarts() bool {
	return c.Def.RestartPolicy != nil && c.Def.RestartPolicy.Enabled
}

// restartInterrupted reports whether the agent ended between the two halves of a restart: the container is gone, and as
// far as the pool knows it has not ended.
func (c *Container) restartInterrupted(known spec.ContainerReport) bool {
	return c.existing == nil && c.restarts() && known.ExitCode == nil && known.Reason == "" && !c.runner.isStopping()
}
