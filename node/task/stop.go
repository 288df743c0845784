package task

import (
	"context"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/packaging/backoff"
	"pinion/packaging/failpoint"
	"pinion/raftfsm/spec"
)

const (
	// defaultStopTimeout is ECS's time from SIGTERM to SIGKILL when a definition does not say.
	defaultStopTimeout = 30 * time.Second
	// killRetryInterval is the time between two SIGKILLs for a container that does not end.
	killRetryInterval = 10 * time.Second
)

// stop is the step that stops every running container: all at the same time, except that a container waits for those
// that depend on it.
func (r *Runner) stop(ctx context.Context) {
	r.report.update(func(report *spec.TaskReport) {
		report.Status = spec.Stopping
		if report.Times.Stopping.IsZero() {
			report.Times.Stopping = utcNow()
		}
	})
	running := slices.DeleteFunc(slices.Clone(r.containers), func(c *Container) bool {
		return !c.started.happened() || c.exited.happened()
	})
	if len(running) == 0 {
		return
	}
	r.queueReport()
	var all errgroup.Group
	for _, c := range running {
		all.Go(func() error {
			c.waitDependents(ctx)
			prestop(ctx, c)
			c.stop(ctx)
			return nil
		})
	}
	_ = all.Wait()
}

// release is the step that frees what the task held: network and GPUs. Only then may the task be reported STOPPED,
// because from that moment the pool gives them to other tasks.
//
// A container whose start failed may have left something after all, if the runtime died in the middle of it.
func (r *Runner) release(ctx context.Context) {
	for _, c := range r.containers {
		if c.startFailed {
			c.remove(ctx)
		}
	}
	r.poststop(ctx)
}

// reportStopped is the step that reports STOPPED until the pool has recorded it. The containers stay until then, so that
// a restart in between finds their exits.
func (r *Runner) reportStopped(ctx context.Context) {
	close(r.logsDone)
	r.report.update(func(report *spec.TaskReport) {
		report.Status = spec.Stopped
		report.Times.Stopped = utcNow()
		for i := range report.Containers {
			report.Containers[i].Status = spec.Stopped
		}
	})
	acked := r.queueReport()
	select {
	case <-acked:
		failpoint.Reached(failpoint.StoppedRecorded)
	case <-r.abandoned:
	case <-ctx.Done():
	}
}

// cleanUp is the last step: it removes the containers and the task's directory.
func (r *Runner) cleanUp(ctx context.Context) {
	for _, c := range r.containers {
		c.remove(ctx)
	}
	failpoint.Reached(failpoint.ContainersRemoved)
	_ = backoff.Retry(ctx, r.log, "remove the task's directory", func(context.Context) error { return r.dir.remove() })
	failpoint.Reached(failpoint.TaskDirRemoved)
}

// stop asks the container to end, and kills it when it does not in time or the task is to stop at once.
func (c *Container) stop(ctx context.Context) {
	if !c.runner.forced.happened() {
		c.signal(ctx, syscall.SIGTERM)
	}
	for timeout, forced := c.stopTimeout(), c.runner.forced.done; !c.waitExited(ctx, timeout, forced); {
		c.signal(ctx, syscall.SIGKILL)
		timeout, forced = killRetryInterval, nil
	}
}

// prestop runs the prestop hooks, unless the task is to stop at once.
func prestop(ctx context.Context, c *Container) {
	ctx, cancel := untilClosed(ctx, c.runner.forced.done)
	defer cancel()
	for _, hook := range c.runner.hooks {
		if h, ok := hook.(PrestopHook); ok && ctx.Err() == nil && !c.exited.happened() {
			h.Prestop(ctx, c)
		}
	}
}

// stopTimeout is the time from SIGTERM to SIGKILL: the definition's, as far as the host lets it.
func (c *Container) stopTimeout() time.Duration {
	timeout := defaultStopTimeout
	if c.Def.StopTimeout != nil {
		timeout = seconds(*c.Def.StopTimeout)
	}
	if most := c.runner.config.MaxStopTimeout; most > 0 {
		timeout = min(timeout, most)
	}
	return timeout
}

// signal is repeated until the runtime takes it or the container has exited.
func (c *Container) signal(ctx context.Context, sig syscall.Signal) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.exited.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = backoff.Retry(ctx, c.runner.log, "send "+sig.String()+" to container "+c.Def.Name, func(ctx context.Context) error {
		return c.runner.config.Containers.Kill(ctx, c.ID, sig)
	})
}

// waitExited waits for the exit at most d, and until forced is closed. It is also true when ctx ends: the agent leaves.
func (c *Container) waitExited(ctx context.Context, d time.Duration, forced <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.exited.done:
		return true
	case <-ctx.Done():
		return true
	case <-forced:
		return false
	case <-timer.C:
		return false
	}
}
