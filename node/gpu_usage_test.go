package node_test

import (
	"errors"
	"testing"
	"time"

	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
)

// wantTotals wants the totals of the task's first container to be these, but for the samples at both ends and what an agent forgets that is killed.
func (w *simHost) wantTotals(when, task string, want gpuuse.Totals) {
	w.Helper()
	got := w.control.lastReport(task).Containers[0].GPUTotals
	near := func(got, want int64) bool { return max(got-want, want-got) <= want/20+20 }
	if got == nil || !near(got.MeasuredSeconds, want.MeasuredSeconds) || !near(got.BusySeconds, want.BusySeconds) || !near(got.Joules/100, want.Joules/100) || got.PeakMemoryMiB != want.PeakMemoryMiB {
		w.Errorf("%s: %+v, want about %+v", when, got, want)
	}
}

// The pool learns from time to time how a task uses its GPUs, and in the end. An agent that is started again goes on where the pool knows.
func TestTheUseOfGPUsIsAddedUp(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.gpus.setUsage("GPU-0", 80, 500)
		w.gpus.setUsage("GPU-1", 20, 100)
		task := w.control.run("t1", withGPUs("a", "GPU-0,GPU-1"))
		w.waitIdle()
		w.advance(16 * time.Minute)
		w.wantTotals("after a quarter of an hour", task, gpuuse.Totals{MeasuredSeconds: 2 * 15 * 60, BusySeconds: 15 * 60, Joules: 600 * 15 * 60, PeakMemoryMiB: 80_000})
		w.crash()
		w.advance(time.Hour) // in which nobody measures
		w.boot()
		w.gpus.setUsage("GPU-0", 0, 100)
		w.gpus.setUsage("GPU-1", -1, 0)
		w.advance(15 * time.Minute)
		w.gpus.setUsage("GPU-1", 101, 1e9) // what no GPU does counts for nothing
		w.advance(15 * time.Minute)
		w.control.stop(task, "enough")
		w.waitIdle()
		w.advance(time.Minute)
		w.wantTotals("in the end", task, gpuuse.Totals{MeasuredSeconds: 2*15*60 + 30*60, BusySeconds: 15 * 60, Joules: 600*15*60 + 100*30*60, PeakMemoryMiB: 80_000})
	})
}

// A share counts as the part of its GPU that it is. What others use of the memory is not its own.
func TestTheUseOfASharedGPUIsDivided(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.gpus.shares = true
		w.boot()
		w.gpus.setUsage("GPU-0", 60, 400)
		task := w.control.run("t1", sharing("a", "GPU-0", 250, 100))
		w.waitIdle()
		w.advance(time.Hour)
		w.control.stop(task, "enough")
		w.waitIdle()
		w.advance(time.Minute)
		w.wantTotals("a quarter of a GPU", task, gpuuse.Totals{MeasuredSeconds: 900, BusySeconds: 540, Joules: 360_000})
	})
}

// withIdleTimeout has the task end when its GPUs do nothing for so long.
func withIdleTimeout(timeout string) func(*spec.Task) {
	return func(t *spec.Task) { t.Tags = []spec.Tag{{Key: spec.TagIdleTimeout, Value: timeout}} }
}

// bootIdleTask boots the host and runs a task with an idle timeout of 30 minutes, whose GPU does nothing.
func (w *simHost) bootIdleTask() string {
	w.boot()
	w.gpus.setUsage("GPU-0", 0, 70)
	task := w.control.assign("t1", spec.TaskDefinition{Containers: []spec.ContainerDefinition{withGPUs("a", "GPU-0")}}, withIdleTimeout("30m"))
	w.waitIdle()
	return task
}

func (w *simHost) idleSince(task string) time.Time {
	if totals := w.control.lastReport(task).Containers[0].GPUTotals; totals != nil {
		return totals.IdleSince
	}
	return time.Time{}
}

// A task whose GPUs do nothing is stopped after its idle timeout, and the pool knows that half of it before. One GPU that computes is enough to go on.
func TestATaskThatDoesNothingIsStopped(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.gpus.setUsage("GPU-0", 0, 70)
		w.gpus.setUsage("GPU-1", 50, 400)
		task := w.control.assign("t1", spec.TaskDefinition{Containers: []spec.ContainerDefinition{withGPUs("a", "GPU-0,GPU-1")}}, withIdleTimeout("30m"))
		w.waitIdle()
		w.advance(2 * time.Hour)
		w.wantRunning(id(task, "a"))
		w.gpus.setUsage("GPU-1", 1, 70) // a monitor looks at it
		w.advance(20 * time.Minute)
		if since := time.Since(w.idleSince(task)); since < 19*time.Minute || since > 21*time.Minute {
			w.Errorf("the pool believes that it is idle for %v", since)
		}
		w.gpus.setUsage("GPU-0", 30, 300)
		w.advance(time.Minute)
		w.gpus.setUsage("GPU-0", 0, 70)
		if since := w.idleSince(task); !since.IsZero() {
			w.Errorf("a task that computes is idle since %v", since)
		}
		w.advance(29 * time.Minute)
		w.wantRunning(id(task, "a"))
		w.advance(2 * time.Minute)
		report := w.control.lastReport(task)
		w.want("stop code", report.StopCode, spec.StopScheduler)
		w.want("reason", report.StoppedReason, spec.IdleReason(30*time.Minute))
		w.wantNothingLeft()
	})
}

// A task that is to queue again gives its GPUs back as one that is preempted.
func TestATaskThatDoesNothingQueuesAgain(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.gpus.setUsage("GPU-0", 0, 70)
		task := w.control.assign("t1", spec.TaskDefinition{Containers: []spec.ContainerDefinition{withGPUs("a", "GPU-0")}}, func(t *spec.Task) {
			t.Tags = []spec.Tag{{Key: spec.TagIdleTimeout, Value: "30m"}, {Key: spec.TagIdleAction, Value: "requeue"}}
		})
		w.waitIdle()
		w.advance(29 * time.Minute)
		w.wantRunning(id(task, "a"))
		w.advance(2 * time.Minute)
		report := w.control.lastReport(task)
		w.want("stop code", report.StopCode, spec.StopPreempted)
		w.want("reason", report.StoppedReason, spec.IdleReason(30*time.Minute))
		w.wantNothingLeft()
	})
}

// Unknown usage is no idleness: of a driver that reports nothing, or an agent that was not there.
func TestATaskOfWhichNothingIsKnownRunsOn(t *testing.T) {
	simulate(t, func(w *simHost) {
		task := w.bootIdleTask()
		w.advance(29 * time.Minute)
		w.gpus.setUsage("GPU-0", -1, 0)
		w.advance(5 * time.Hour)
		w.gpus.setUsage("GPU-0", 0, 70)
		w.advance(29 * time.Minute)
		w.crash()
		w.advance(time.Hour)
		w.boot()
		w.advance(29 * time.Minute)
		w.wantRunning(id(task, "a"))
		w.advance(2 * time.Minute)
		w.want("stop code", w.control.lastReport(task).StopCode, spec.StopScheduler)
	})
}

// Time without a measurement may have been work: the time begins anew after a driver that did not answer.
func TestAGapInTheMeasurementIsNotIdleness(t *testing.T) {
	simulate(t, func(w *simHost) {
		task := w.bootIdleTask()
		w.advance(20 * time.Minute)
		if w.idleSince(task).IsZero() {
			t.Error("the pool does not know that it is idle")
		}
		w.gpus.failUsage(errors.New("the driver hangs"))
		w.advance(20 * time.Minute)
		w.gpus.failUsage(nil)
		w.advance(10 * time.Minute)
		w.wantRunning(id(task, "a"))
		if since := w.idleSince(task); !since.IsZero() {
			t.Errorf("the pool believes that it is idle since %v", since)
		}
		w.advance(25 * time.Minute)
		w.want("stop code", w.control.lastReport(task).StopCode, spec.StopScheduler)
	})
}
