package task

import (
	"context"
	"time"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// Traffic is a task as a target of requests.
type Traffic struct {
	runner   *Runner
	draining *latch // the task is to stop, and may have requests in flight
	drained  *latch // it has none any more
	over     *latch // an essential container has ended, or all have
}

func newTraffic(r *Runner) *Traffic {
	t := &Traffic{runner: r, draining: newLatch(), drained: newLatch(), over: newLatch()}
	t.track(r.task)
	return t
}

// track takes in how far the pool has seen the task drain.
func (t *Traffic) track(task *spec.Task) {
	if task.Drains() {
		t.draining.set()
	}
	if task.Drained {
		t.drained.set()
	}
}

// drain is the step in which the containers of a task that is to stop run on for the requests in flight to its targets. It ends when the pool says
// that there is none, after the deregistration delay, when the task is to stop at once, and when there is nothing left to run on.
func (t *Traffic) drain(ctx context.Context) {
	r := t.runner
	if !t.draining.happened() || r.config.DrainDelay == nil {
		return
	}
	delay := r.config.DrainDelay(r.task.ID)
	r.log.Info("the task drains: it runs on for the requests in flight to it", "delay", delay)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-t.drained.done:
	case <-timer.C:
	case <-r.forced.done:
	case <-r.abandoned:
	case <-t.over.done:
	case <-ctx.Done():
	}
}

// Report takes the health of a target of the task.
func (t *Traffic) Report(found traffic.TargetHealth) {
	t.runner.log.Info("target", "group", found.Group, "container", found.Container, "port", found.Port, "state", found.State, "reason", found.Reason, "detail", found.Detail)
	t.runner.report.update(func(report *spec.TaskReport) {
		report.Targets = traffic.MergeHealth(report.Targets, []traffic.TargetHealth{found})
	})
	t.runner.queueReport()
}
