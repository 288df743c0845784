package node

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"pinion/raftfsm/spec"
)

// defaultRestartPeriod is how long a container must have run to be started again, when its policy does not say.
const defaultRestartPeriod = 300 * time.Second

// maybeRestart starts a container anew that has ended by itself, when its restart policy wants that. False when it stays
// ended. The container keeps its id, network and log; its file system begins anew from the image.
func (r *runner) maybeRestart(ctx context.Context, c *container, e Exit, since time.Time) bool {
	if !r.shouldRestart(c, e, since) {
		return false
	}
	r.log.Info("container is started again", "container", c.def.Name, "exit code", e.Code)
	r.removeContainer(ctx, c)
	if err := r.restart(ctx, c); err != nil {
		if ctx.Err() == nil && !r.isStopping() {
			r.log.Warn("container cannot be started again", "container", c.def.Name, "err", err)
		}
		return false
	}
	if r.isStopping() { // the signal to stop may have come while there was no process to hear it
		r.signal(ctx, c, syscall.SIGTERM)
	}
	return true
}

func (r *runner) restart(ctx context.Context, c *container) error {
	resources, err := r.prestart(ctx, []*container{c})
	if err != nil {
		return err
	}
	if r.isStopping() {
		return errStopping
	}
	return r.startContainer(ctx, c, resources)
}

// errStopping is why nothing is started any more.
var errStopping = errors.New("the task is ending")

// shouldRestart says whether the restart policy wants the container to be started again after this end.
func (r *runner) shouldRestart(c *container, e Exit, since time.Time) bool {
	policy := c.def.RestartPolicy
	if policy == nil || !policy.Enabled || since.IsZero() || r.isStopping() {
		return false
	}
	period := defaultRestartPeriod
	if policy.RestartAttemptPeriod != nil {
		period = seconds(*policy.RestartAttemptPeriod)
	}
	ran := max(0, e.At.Sub(since)) // it may have ended before its start was noted
	return ran >= period && !slices.Contains(policy.IgnoredExitCodes, e.Code)
}

// restartInterrupted reports whether the agent ended between the two halves of a restart: the container is gone, and as
// far as the cluster knows it has not ended.
func (r *runner) restartInterrupted(c *container, known spec.ContainerReport) bool {
	policy := c.def.RestartPolicy
	return c.existing == nil && policy != nil && policy.Enabled && known.ExitCode == nil && known.Reason == "" && !r.isStopping()
}
