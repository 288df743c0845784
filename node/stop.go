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
	// stopTimeout is ECS's time from SIGTERM to SIGKILL when a definition does not say.
	stopTimeout = 30 * time.Second
	// killAgain is how often SIGKILL is repeated for a container that does not go.
	killAgain = 10 * time.Second
)

// bringDown stops every container that still runs: all at the same time, but for those that others depend on.
func (r *runner) bringDown(ctx context.Context) {
	r.update(func(report *spec.TaskReport) {
		report.Status = spec.Stopping
		if report.Times.Stopping.IsZero() {
			report.Times.Stopping = now()
		}
	})
	running := slices.DeleteFunc(slices.Clone(r.containers), func(c *container) bool { return !c.started || closed(c.gone) })
	if len(running) == 0 {
		return
	}
	r.publish()
	var all errgroup.Group
	for _, c := range running {
		all.Go(func() error {
			r.awaitDependents(ctx, c)
			r.stop(ctx, c)
			return nil
		})
	}
	_ = all.Wait()
}

// stop asks the container to end, and ends it when it does not in time.
func (r *runner) stop(ctx context.Context, c *container) {
	patience := stopTimeout
	if c.def.StopTimeout != nil {
		patience = time.Duration(*c.def.StopTimeout) * time.Second
	}
	r.signal(ctx, c, syscall.SIGTERM)
	for !r.goneWithin(ctx, c, patience) {
		r.signal(ctx, c, syscall.SIGKILL)
		patience = killAgain
	}
}

// signal is repeated until the runtime takes it or the container is gone.
func (r *runner) signal(ctx context.Context, c *container, sig syscall.Signal) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = retry(ctx, r.log, "send "+sig.String()+" to container "+c.def.Name, func(ctx context.Context) error {
		return r.node.config.Containers.Kill(ctx, c.id, sig)
	})
}

// goneWithin is also true when ctx ends: the agent leaves, and nobody waits any more.
func (r *runner) goneWithin(ctx context.Context, c *container, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.gone:
		return true
	case <-ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}

// release gives the host back what the task had of it: network and GPUs. Only then the task may be called STOPPED,
// because from that moment the cluster gives them to others.
//
// A container whose start failed may have left something after all, if the runtime died in the middle of it.
func (r *runner) release(ctx context.Context) {
	for _, c := range r.containers {
		if c.broken {
			r.clear(ctx, c)
		}
	}
	var all errgroup.Group
	for _, c := range r.containers {
		all.Go(func() error { return r.detach(ctx, c) })
	}
	all.Go(func() error { return r.freeGPUs(ctx) })
	_ = all.Wait()
}

func (r *runner) detach(ctx context.Context, c *container) error {
	if r.mode != networkBridge {
		return nil
	}
	return retry(ctx, r.log, "detach container "+c.def.Name+" from the network", func(ctx context.Context) error {
		return r.node.config.Network.Detach(ctx, c.id)
	})
}

func (r *runner) freeGPUs(ctx context.Context) error {
	held := r.node.handover.held(r.task.ID)
	err := r.node.handover.prove(ctx, held, func(reason string) {
		r.log.Warn("task stays STOPPING until its GPUs are free", "reason", reason)
		r.publish()
	})
	if err == nil {
		r.node.handover.release(r.task.ID)
	}
	return err
}

// settle says STOPPED until it is heard. The containers stay until then, so that a restart in between finds how they
// ended.
func (r *runner) settle(ctx context.Context) {
	close(r.quiet)
	r.update(func(report *spec.TaskReport) {
		report.Status = spec.Stopped
		report.Times.Stopped = now()
		for i := range report.Containers {
			report.Containers[i].Status = spec.Stopped
		}
	})
	heard := r.publish()
	select {
	case <-heard:
	case <-r.dropped:
	case <-ctx.Done():
	}
}

// remove clears the last traces of the task from this host.
func (r *runner) remove(ctx context.Context) {
	for _, c := range r.containers {
		r.clear(ctx, c)
	}
	_ = retry(ctx, r.log, "remove the task's directory", func(context.Context) error { return r.scratch.remove() })
}

func (r *runner) clear(ctx context.Context, c *container) {
	_ = retry(ctx, r.log, "remove container "+c.def.Name, func(ctx context.Context) error {
		return r.node.config.Containers.Remove(ctx, c.id)
	})
}
