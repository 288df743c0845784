package task

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/raftfsm/spec"
)

// startByDependency starts the containers without dependsOn one after the other in the definition's order, and each of
// the others as soon as its dependencies meet their conditions.
func (r *Runner) startByDependency(ctx context.Context, missing []*Container, starts map[*Container]*Start) error {
	waiting, cancel := untilClosed(ctx, r.stopping)
	defer cancel()
	dependents, waiting := errgroup.WithContext(waiting)
	hasDependents := false
	for _, c := range missing {
		if len(c.Def.DependsOn) > 0 {
			hasDependents = true
			dependents.Go(func() error {
				if err := c.waitDependencies(waiting); err != nil {
					return err
				}
				return c.startSupervised(ctx, starts[c])
			})
		}
	}
	for _, c := range missing {
		if len(c.Def.DependsOn) > 0 {
			continue
		}
		if err := c.startSupervised(ctx, starts[c]); err != nil {
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

// waitDependencies waits until the container may start. The error names the dependency that it waited for in vain.
func (c *Container) waitDependencies(ctx context.Context) error {
	for _, d := range c.Def.DependsOn {
		if err := c.waitDependency(ctx, d); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return startError(kindDependency, c, fmt.Errorf("container %s waits for container %s to be %s, which %w", c.Def.Name, d.ContainerName, d.Condition, err))
		}
	}
	return nil
}

func (c *Container) waitDependency(ctx context.Context, d spec.ContainerDependency) error {
	other := c.runner.containers.named(d.ContainerName)
	if other == nil {
		return fmt.Errorf("is not in the task definition")
	}
	select {
	case <-other.started.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if d.Condition == spec.DependStart {
		return nil
	}
	met := other.exited
	if d.Condition == spec.DependHealthy {
		met = other.healthy
	}
	select {
	case <-met.done:
	case <-other.exited.done:
	case <-other.startDeadline():
	case <-ctx.Done():
		return ctx.Err()
	}
	return other.conditionError(d.Condition)
}

// startDeadline fires when dependents have waited for the container for its startTimeout, counted from its start; never
// when the definition does not say.
func (c *Container) startDeadline() <-chan time.Time {
	if c.Def.StartTimeout == nil {
		return nil
	}
	return time.After(time.Until(c.startedAt.Add(seconds(*c.Def.StartTimeout))))
}

// conditionError is why the container does not meet a dependent's condition, and now never will; nil when it does.
func (c *Container) conditionError(condition string) error {
	ended := c.exited.happened()
	switch {
	case condition == spec.DependHealthy && c.healthy.happened(), condition == spec.DependComplete && ended:
		return nil
	case condition == spec.DependHealthy && ended:
		return fmt.Errorf("ended before its health check passed")
	case !ended:
		return fmt.Errorf("did not come to that within its startTimeout of %d seconds", *c.Def.StartTimeout)
	}
	code := c.report().ExitCode
	if code == nil {
		return fmt.Errorf("ended with an unknown exit code")
	}
	if *code != 0 {
		return fmt.Errorf("ended with exit code %d", *code)
	}
	return nil
}

// waitDependents waits until the containers that depend on this one have ended: the first to start is the last to stop.
func (c *Container) waitDependents(ctx context.Context) {
	for _, other := range c.runner.containers {
		depends := slices.ContainsFunc(other.Def.DependsOn, func(d spec.ContainerDependency) bool { return d.ContainerName == c.Def.Name })
		if !depends || !other.started.happened() {
			continue
		}
		select {
		case <-other.exited.done:
		case <-c.exited.done:
			return
		case <-c.runner.forced.done:
			return
		case <-ctx.Done():
			return
		}
	}
}
