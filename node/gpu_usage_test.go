package node_test

import (
	"testing"
	"time"

	"pinion/raftfsm/gpuuse"
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
