package task

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"pinion/node/runtime"
	"pinion/packaging/backoff"
	"pinion/packaging/failpoint"
	"pinion/raftfsm/spec"
)

// startTimeout bounds one Containers.Start.
const startTimeout = 3 * time.Minute

// Container is one container of the task. One goroutine at a time uses its fields: the runner's own, one that starts it
// after its dependencies, or its supervisor. Its latches may be read by all.
type Container struct {
	ID   string
	Def  *spec.ContainerDefinition // effective: overrides merged
	GPUs []string                  // UUIDs

	runner          *Runner
	index           int                        // in the definition and the report
	existing        *runtime.ExistingContainer // what was there of it when the agent started; nil: nothing
	startedAt       time.Time                  // its first start; not to be read before started
	finishedAt      time.Time                  // its end; not to be read before exited
	startFailed     bool                       // the runtime failed in its start: see to it that nothing is left
	restarted       atomic.Int64               // how often it was started again since the agent was
	restartedBefore int64                      // and before that
	started         *latch                     // its process has been started, now or before a restart of the agent
	healthy         *latch                     // its health check has passed
	exited          *latch                     // it has ended for good and its exit is in the report
}

// Task is the task that the container belongs to.
func (c *Container) Task() *spec.Task { return c.runner.task }

// networkMode is the mode of its task's network, unless it is to have none.
func (c *Container) networkMode() string {
	if c.Def.HasNoNetwork() {
		return runtime.NetworkNone
	}
	return networkMode(c.runner.def)
}

// report is the container's part of the task's report as it stands.
func (c *Container) report() spec.ContainerReport { return c.runner.report.container(c.index) }

// updateReport changes the container's part of the task's report.
func (c *Container) updateReport(change func(*spec.ContainerReport)) {
	c.runner.report.update(func(report *spec.TaskReport) { change(&report.Containers[c.index]) })
}

// reportAttachment notes the container's connection to the network in the report.
func (c *Container) reportAttachment(report *spec.ContainerReport, address string, bindings []spec.NetworkBinding) {
	report.Bindings = bindings
	if c.runner.def.HasOwnAddress() {
		report.Address = address
	}
}

// markStarted notes that the container's process has been started. Starting it again changes nothing.
func (c *Container) markStarted(at time.Time) {
	if !c.started.happened() {
		c.startedAt = at
		c.started.set()
	}
}

// startSupervised starts the container and its supervisor, unless the task is stopping.
func (c *Container) startSupervised(ctx context.Context, s *Start) error {
	if c.runner.isStopping() || ctx.Err() != nil {
		return nil
	}
	if err := c.start(ctx, s); err != nil {
		return err
	}
	c.supervise(ctx, time.Now())
	return nil
}

// start starts the container. The call is not broken off when the agent is told to leave: half a start helps nobody.
func (c *Container) start(ctx context.Context, s *Start) error {
	if err := c.runner.buildSpec(s); err != nil {
		return asStartError(kindCannotCreate, c, err)
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	err := c.runner.config.Containers.Start(call, s.Spec)
	if errors.Is(err, runtime.ErrExists) {
		c.runner.log.Warn("the container exists already, going on with it", "container", c.Def.Name)
		err = nil
	}
	if err != nil {
		c.startFailed = true
		return startError(startKind(err), c, err)
	}
	before := c.report().ImageDigest
	c.updateReport(func(report *spec.ContainerReport) {
		report.Status, report.RuntimeID, report.ImageDigest = spec.Running, c.ID, s.Spec.Image.Digest
		c.reportAttachment(report, s.Address, s.Bindings)
	})
	c.markStarted(time.Now())
	if before != "" && before != s.Spec.Image.Digest {
		c.runner.queueReport() // a restart changes nothing else that the pool knows
	}
	return nil
}

// remove removes the container from the runtime. It returns when that is done or ctx ends.
func (c *Container) remove(ctx context.Context) {
	_ = backoff.Retry(ctx, c.runner.log, "remove container "+c.Def.Name, func(ctx context.Context) error {
		return c.runner.config.Containers.Remove(ctx, c.ID)
	})
}

// recordExit records how the container ended, and stops the task when the container was essential or the last one.
func (c *Container) recordExit(e runtime.Exit) {
	r := c.runner
	r.report.update(func(report *spec.TaskReport) {
		mine := &report.Containers[c.index]
		mine.Status = spec.Stopped
		e.FillReport(mine)
		if c.Def.IsEssential() && report.Times.ExecutionStopped.IsZero() {
			report.Times.ExecutionStopped = e.At.UTC()
		}
	})
	failpoint.Reached(failpoint.ExitKnown)
	c.finishedAt = e.At
	c.exited.set()
	if c.Def.IsEssential() || r.containers.allExited() {
		r.Traffic.over.set()
		r.beginStop(spec.StopEssentialExited, "Essential container in task exited")
		return
	}
	r.queueReport()
}
