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

// mark is something that happens once.
type mark struct {
	once sync.Once
	done chan struct{}
}

func newMark() *mark { return &mark{done: make(chan struct{})} }

// close says that it has happened; saying it again changes nothing.
func (m *mark) close() { m.once.Do(func() { close(m.done) }) }

// startInOrder starts the containers that depend on none, one after the other in the definition's order, and each of
// the others as soon as those that it depends on have come as far as it wants.
func (r *runner) startInOrder(ctx context.Context, missing []*container, p *prepared) error {
	patience, cancel := r.untilEnd(ctx)
	defer cancel()
	dependents, patience := errgroup.WithContext(patience)
	waiting := false
	for _, c := range missing {
		if len(c.def.DependsOn) > 0 {
			waiting = true
			dependents.Go(func() error {
				if err := r.awaitDependencies(patience, c); err != nil {
					return err
				}
				return r.start(ctx, c, p)
			})
		}
	}
	for _, c := range missing {
		if len(c.def.DependsOn) > 0 {
			continue
		}
		if err := r.start(ctx, c, p); err != nil {
			cancel()
			_ = dependents.Wait()
			return err
		}
	}
	if waiting {
		r.publish() // it may take long until all have started
	}
	return dependents.Wait()
}

// awaitDependencies waits until the container may start. The error says which one it waited for in vain.
func (r *runner) awaitDependencies(ctx context.Context, c *container) error {
	for _, d := range c.def.DependsOn {
		if err := r.awaitDependency(ctx, d); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return failed(noDependency, c, fmt.Errorf("container %s waits for container %s to be %s, which %w", c.def.Name, d.ContainerName, d.Condition, err))
		}
	}
	return nil
}

func (r *runner) awaitDependency(ctx context.Context, d spec.ContainerDependency) error {
	other := r.named(d.ContainerName)
	if other == nil {
		return fmt.Errorf("is not in the task definition")
	}
	select {
	case <-other.begun.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if d.Condition == spec.DependStart {
		return nil
	}
	var met <-chan struct{} = other.gone
	if d.Condition == spec.DependHealthy {
		met = other.healthy.done
	}
	timeout := other.startTimeout()
	select {
	case <-met:
	case <-other.gone:
	case <-timeout:
	case <-ctx.Done():
		return ctx.Err()
	}
	return r.meets(other, d.Condition)
}

// startTimeout fires when others have waited for the container long enough, counted from its start; never when the
// definition does not say.
func (c *container) startTimeout() <-chan time.Time {
	if c.def.StartTimeout == nil {
		return nil
	}
	return time.After(time.Until(c.startedAt.Add(seconds(*c.def.StartTimeout))))
}

// meets says why the container does not meet the condition of one that depends on it, and now never will.
func (r *runner) meets(c *container, condition string) error {
	ended := closed(c.gone)
	switch {
	case condition == spec.DependHealthy && closed(c.healthy.done), condition == spec.DependComplete && ended:
		return nil
	case condition == spec.DependHealthy && ended:
		return fmt.Errorf("ended before its health check passed")
	case !ended:
		return fmt.Errorf("did not come to that within its startTimeout of %d seconds", *c.def.StartTimeout)
	}
	code := r.reported(c).ExitCode
	if code == nil {
		return fmt.Errorf("ended with an exit code that nobody knows")
	}
	if *code != 0 {
		return fmt.Errorf("ended with exit code %d", *code)
	}
	return nil
}

func (r *runner) named(name string) *container {
	at := slices.IndexFunc(r.containers, func(c *container) bool { return c.def.Name == name })
	if at < 0 {
		return nil
	}
	return r.containers[at]
}

// awaitDependents waits until the containers that depend on this one have ended: what was started first is stopped
// last.
func (r *runner) awaitDependents(ctx context.Context, c *container) {
	for _, other := range r.containers {
		depends := slices.ContainsFunc(other.def.DependsOn, func(d spec.ContainerDependency) bool { return d.ContainerName == c.def.Name })
		if !depends || !other.started {
			continue
		}
		select {
		case <-other.gone:
		case <-c.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}
