package node

import (
	"context"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/raftfsm/spec"
)

const (
	// defaultStopTimeout is ECS's time from SIGTERM to SIGKILL when a definition does not say.
	defaultStopTimeout = 30 * time.Second
	// killRetryInterval is how often SIGKILL is repeated for a container that does not go.
	killRetryInterval = 10 * time.Second
)

// stopTask stops every container that still runs: all at the same time, but for those that others depend on.
func (r *runner) stopTask(ctx context.Context) {
	r.updateReport(func(report *spec.TaskReport) {
		report.Status = spec.Stopping
		if report.Times.Stopping.IsZero() {
			report.Times.Stopping = utcNow()
		}
	})
	running := slices.DeleteFunc(slices.Clone(r.containers), func(c *container) bool { return !c.started || isClosed(c.exited) })
	if len(running) == 0 {
		return
	}
	r.queueReport()
	var all errgroup.Group
	for _, c := range running {
		all.Go(func() error {
			r.waitDependents(ctx, c)
			r.stopContainer(ctx, c)
			return nil
		})
	}
	_ = all.Wait()
}

// stopContainer asks the container to end, and ends it when it does not in time.
func (r *runner) stopContainer(ctx context.Context, c *container) {
	timeout := defaultStopTimeout
	if c.def.StopTimeout != nil {
		timeout = time.Duration(*c.def.StopTimeout) * time.Second
	}
	r.signal(ctx, c, syscall.SIGTERM)
	for !r.waitExited(ctx, c, timeout) {
		r.signal(ctx, c, syscall.SIGKILL)
		timeout = killRetryInterval
	}
}

// signal is repeated until the runtime takes it or the container is gone.
func (r *runner) signal(ctx context.Context, c *container, sig syscall.Signal) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = retry(ctx, r.log, "send "+sig.String()+" to container "+c.def.Name, func(ctx context.Context) error {
		return r.node.config.Containers.Kill(ctx, c.id, sig)
	})
}

// waitExited is also true when ctx ends: the agent leaves, and nobody waits any more.
func (r *runner) waitExited(ctx context.Context, c *container, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}

// releaseResources gives the host back what the task had of it: network and GPUs. Only then the task may be called STOPPED,
// because from that moment the cluster gives them to others.
//
// A container whose start failed may have left something after all, if the runtime died in the middle of it.
func (r *runner) releaseResources(ctx context.Context) {
	for _, c := range r.containers {
		if c.startFailed {
			r.removeContainer(ctx, c)
		}
	}
	var all errgroup.Group
	for _, c := range r.containers {
		all.Go(func() error { return r.detachNetwork(ctx, c) })
	}
	all.Go(func() error { return r.releaseGPUs(ctx) })
	_ = all.Wait()
}

func (r *runner) detachNetwork(ctx context.Context, c *container) error {
	if r.mode != networkBridge {
		return nil
	}
	return retry(ctx, r.log, "detach container "+c.def.Name+" from the network", func(ctx context.Context) error {
		return r.node.config.Network.Detach(ctx, c.id)
	})
}

func (r *runner) releaseGPUs(ctx context.Context) error {
	held := r.node.gpuLock.heldBy(r.task.ID)
	err := r.node.gpuLock.waitIdle(ctx, held, func(reason string) {
		r.log.Warn("task stays STOPPING until its GPUs are free", "reason", reason)
		r.queueReport()
	})
	if err == nil {
		r.node.gpuLock.release(r.task.ID)
	}
	return err
}

// reportStopped says STOPPED until it is heard. The containers stay until then, so that a restart in between finds how they
// ended.
func (r *runner) reportStopped(ctx context.Context) {
	close(r.logsDone)
	r.updateReport(func(report *spec.TaskReport) {
		report.Status = spec.Stopped
		report.Times.Stopped = utcNow()
		for i := range report.Containers {
			report.Containers[i].Status = spec.Stopped
		}
	})
	acked := r.queueReport()
	select {
	case <-acked:
	case <-r.unassigned:
	case <-ctx.Done():
	}
}

// cleanUp clears the last traces of the task from this host.
func (r *runner) cleanUp(ctx context.Context) {
	for _, c := range r.containers {
		r.removeContainer(ctx, c)
	}
	_ = retry(ctx, r.log, "remove the task's directory", func(context.Context) error { return r.dir.remove() })
}

func (r *runner) removeContainer(ctx context.Context, c *container) {
	_ = retry(ctx, r.log, "remove container "+c.def.Name, func(ctx context.Context) error {
		return r.node.config.Containers.Remove(ctx, c.id)
	})
}
