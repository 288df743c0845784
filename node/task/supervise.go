package task

import (
	"context"
	"errors"
	"sync"
	"time"

	"pinion/node/runtime"
	"pinion/packaging/backoff"
)

// lostReason is the reason of a container that the runtime does not have any more.
const lostReason = "the container is not on this host any more"

// supervise stays with a started container until it has ended for good, and records its exit. It does not block.
func (c *Container) supervise(ctx context.Context, started time.Time) {
	c.runner.supervisors.Go(func() {
		for {
			exit, err := c.monitor(ctx, started)
			if err != nil {
				return
			}
			if !c.maybeRestart(ctx, exit, started) {
				if ctx.Err() == nil {
					c.recordExit(exit)
				}
				return
			}
			started = time.Now()
		}
	})
}

// monitor waits for the container's exit; meanwhile the poststart hooks run.
func (c *Container) monitor(ctx context.Context, started time.Time) (exit runtime.Exit, err error) {
	var hooks sync.WaitGroup
	defer hooks.Wait()
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, hook := range c.runner.hooks {
		if h, ok := hook.(PoststartHook); ok {
			hooks.Go(func() { h.Poststart(running, c, started) })
		}
	}
	err = backoff.Retry(ctx, c.runner.log, "wait for container "+c.Def.Name, func(ctx context.Context) (err error) {
		exit, err = c.runner.config.Containers.Wait(ctx, c.ID)
		if errors.Is(err, runtime.ErrNotFound) { // waiting for it is over
			exit, err = runtime.LostExit(lostReason), nil
		}
		return err
	})
	return exit, err
}
