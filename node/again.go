package node

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"

	"pinion/raftfsm/spec"
)

// restartPeriod is how long a container must have run to be started again, when its policy does not say.
const restartPeriod = 300 * time.Second

// again starts a container anew that has ended by itself, when its restart policy wants that. False when it stays
// ended. The container keeps its id, network and log; its file system begins anew from the image.
func (r *runner) again(ctx context.Context, c *container, e Exit, since time.Time) bool {
	if !r.restarts(c, e, since) {
		return false
	}
	r.log.Info("container is started again", "container", c.def.Name, "exit code", e.Code)
	r.clear(ctx, c)
	if err := r.startAgain(ctx, c); err != nil {
		if ctx.Err() == nil && !r.ending() {
			r.log.Warn("container cannot be started again", "container", c.def.Name, "err", err)
		}
		return false
	}
	if r.ending() { // the signal to stop may have come while there was no process to hear it
		r.signal(ctx, c, syscall.SIGTERM)
	}
	return true
}

func (r *runner) startAgain(ctx context.Context, c *container) error {
	ready, err := r.prepare(ctx, []*container{c})
	if err != nil {
		return err
	}
	if r.ending() {
		return errEnding
	}
	return r.launch(ctx, c, ready)
}

// errEnding is why nothing is started any more.
var errEnding = errors.New("the task is ending")

// restarts says whether the restart policy wants the container to be started again after this end.
func (r *runner) restarts(c *container, e Exit, since time.Time) bool {
	policy := c.def.RestartPolicy
	if policy == nil || !policy.Enabled || since.IsZero() || r.ending() {
		return false
	}
	period := restartPeriod
	if policy.RestartAttemptPeriod != nil {
		period = seconds(*policy.RestartAttemptPeriod)
	}
	ran := max(0, e.At.Sub(since)) // it may have ended before its start was noted
	return ran >= period && !slices.Contains(policy.IgnoredExitCodes, e.Code)
}

// wasRestarting reports whether the agent ended between the two halves of a restart: the container is gone, and as
// far as the cluster knows it has not ended.
func (r *runner) wasRestarting(c *container, known spec.ContainerReport) bool {
	policy := c.def.RestartPolicy
	return c.found == nil && policy != nil && policy.Enabled && known.ExitCode == nil && known.Reason == "" && !r.ending()
}
