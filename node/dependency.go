package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/raftfsm/spec"
)

// latch is something that happens once.
type latch struct {
	once sync.Once
	done chan struct{}
}

func newLatch() *latch { return &latch{done: make(chan struct{})} }

// close says that it has happened; saying it again changes nothing.
func (m *latch) close() { m.once.Do(func() { close(m.done) }) }

// startByDependency starts the containers that depend on none, one after the other in the definition's order, and each of
// the others as soon as those that it depends on have come as far as it wants.
func (r *runner) startByDependency(ctx context.Context, missing []*container, p *startResources) error {
	waitCtx, cancel := r.untilStopping(ctx)
	defer cancel()
	dependents, waitCtx := errgroup.WithContext(waitCtx)
	hasDependents := false
	for _, c := range missing {
		if len(c.def.DependsOn) > 0 {
			hasDependents = true
			dependents.Go(func() error {
				if err := r.waitDependencies(waitCtx, c); err != nil {
					return err
				}
				return r.startAndSupervise(ctx, c, p)
			})
		}
	}
	for _, c := range missing {
		if len(c.def.DependsOn) > 0 {
			continue
		}
		if err := r.startAndSupervise(ctx, c, p); err != nil {
			cancel()
			_ = dependents.Wait()
			return err
		}
	}
	if hasDependents {
		r.queueReport() // it may take long until all have started
	}
	return dependents.Wait()
}

// waitDependencies waits until the container may start. The error says which one it waited for in vain.
func (r *runner) waitDependencies(ctx context.Context, c *container) error {
	for _, d := range c.def.DependsOn {
		if err := r.waitDependency(ctx, d); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return newStartError(kindDependency, c, fmt.Errorf("container %s waits for container %s to be %s, which %w", c.def.Name, d.ContainerName, d.Condition, err))
		}
	}
	return nil
}

func (r *runner) waitDependency(ctx context.Context, d spec.ContainerDependency) error {
	other := r.containerNamed(d.ContainerName)
	if other == nil {
		return fmt.Errorf("is not in the task definition")
	}
	select {
	case <-other.startDone.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if d.Condition == spec.DependStart {
		return nil
	}
	var met <-chan struct{} = other.exited
	if d.Condition == spec.DependHealthy {
		met = other.healthy.done
	}
	timeout := other.startDeadline()
	select {
	case <-met:
	case <-other.exited:
	case <-timeout:
	case <-ctx.Done():
		return ctx.Err()
	}
	return r.conditionError(other, d.Condition)
}

// startDeadline fires when others have waited for the container long enough, counted from its start; never when the
// definition does not say.
func (c *container) startDeadline() <-chan time.Time {
	if c.def.StartTimeout == nil {
		return nil
	}
	return time.After(time.Until(c.startedAt.Add(seconds(*c.def.StartTimeout))))
}

// conditionError says why the container does not meet the condition of one that depends on it, and now never will.
func (r *runner) conditionError(c *container, condition string) error {
	ended := isClosed(c.exited)
	switch {
	case condition == spec.DependHealthy && isClosed(c.healthy.done), condition == spec.DependComplete && ended:
		return nil
	case condition == spec.DependHealthy && ended:
		return fmt.Errorf("ended before its health check passed")
	case !ended:
		return fmt.Errorf("did not come to that within its startTimeout of %d seconds", *c.def.StartTimeout)
	}
	code := r.containerReport(c).ExitCode
	if code == nil {
		return fmt.Errorf("ended with an exit code that nobody knows")
	}
	if *code != 0 {
		return fmt.Errorf("ended with exit code %d", *code)
	}
	return nil
}

func (r *runner) containerNamed(name string) *container {
	at := slices.IndexFunc(r.containers, func(c *container) bool { return c.def.Name == name })
	if at < 0 {
		return nil
	}
	return r.containers[at]
}

// waitDependents waits until the containers that depend on this one have ended: what was started first is stopped
// last.
func (r *runner) waitDependents(ctx context.Context, c *container) {
	for _, other := range r.containers {
		depends := slices.ContainsFunc(other.def.DependsOn, func(d spec.ContainerDependency) bool { return d.ContainerName == c.def.Name })
		if !depends || !other.started {
			continue
		}
		select {
		case <-other.exited:
		case <-c.exited:
			return
		case <-ctx.Done():
			return
		}
	}
}
