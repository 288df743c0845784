package node_test

import (
	"testing"
	"time"

	"pinion/node/machine"
	"pinion/raftfsm/spec"
)

// limited assigns a task of one container with a time limit.
func (c *fakeControl) limited(id, limit string) string {
	c.run(id, container("main"))
	c.retag(id, spec.Tag{Key: spec.TagTimeLimit, Value: limit})
	return id
}

// retag replaces the tags of a task.
func (c *fakeControl) retag(id string, tags ...spec.Tag) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.tasks[id]
	task := *a.Task
	task.Tags = tags
	a.Task = &task
	c.tasks[id] = a
	c.change()
}

func (w *simHost) wantTimedOut(task, limit string) {
	w.Helper()
	report := w.control.lastReport(task)
	w.want("status", report.Status, spec.Stopped)
	w.want("stop code", report.StopCode, spec.StopScheduler)
	w.want("reason", report.StoppedReason, "The task reached its time limit of "+limit+" (pinion.time-limit)")
}

func TestATaskEndsAtItsTimeLimit(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		letGo := w.runtime.HoldPull("main:1")
		task := w.control.limited("t1", "30m")
		w.advance(time.Hour) // a pull does not count
		letGo()
		w.waitIdle()
		w.advance(30*time.Minute - time.Second)
		w.wantRunning(id(task, "main"))
		w.advance(time.Second)
		w.wantTimedOut(task, "30m0s")
	})
}

// The wall clock of the host was off by days when the task started, or has been set since: that is, what is on record of the
// task's start, in the pool and in the container runtime, is anywhere in the past or to come.
func TestWallClocksEndNoTaskEarlyOrLate(t *testing.T) {
	for name, shift := range map[string]time.Duration{
		"2 days behind": -48 * time.Hour, "10 minutes behind": -10 * time.Minute, "an hour ahead": time.Hour, "100 days ahead": 2400 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.boot()
				task := w.control.limited("t1", "30m")
				w.waitIdle()
				w.advance(20 * time.Minute)
				w.crash()
				w.control.shiftStart(task, shift)
				w.machine.ShiftStart(id(task, "main"), shift)
				w.boot()
				w.advance(10*time.Minute - time.Second)
				w.wantRunning(id(task, "main"))
				w.advance(time.Second)
				w.wantTimedOut(task, "30m0s")
			})
		})
	}
}

// shiftStart has the pool know another start of a task.
func (c *fakeControl) shiftStart(id string, shift time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.tasks[id]
	task := *a.Task
	task.Times.Started = task.Times.Started.Add(shift)
	a.Task = &task
	c.tasks[id] = a
}

func TestATimeLimitGoesOnWhileTheAgentIsAway(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.limited("t1", "30m")
		w.waitIdle()
		w.crash()
		w.advance(time.Hour)
		w.boot()
		w.wantTimedOut(task, "30m0s")
	})
}

func TestWhatWasCountedBeforeAnotherBootSaysNothing(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.limited("t1", "30m")
		w.waitIdle()
		w.advance(20 * time.Minute)
		w.crash()
		w.bootID = "another"
		w.boot()
		w.advance(30*time.Minute - time.Second)
		w.wantRunning(id(task, "main"))
		w.advance(time.Second)
		w.wantTimedOut(task, "30m0s")
	})
}

func TestATimeLimitCanBeChangedWhileTheTaskRuns(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		longer, shorter, none := w.control.limited("t1", "30m"), w.control.limited("t2", "3h"), w.control.limited("t3", "30m")
		w.waitIdle()
		w.advance(20 * time.Minute)
		w.control.retag(longer, spec.Tag{Key: spec.TagTimeLimit, Value: "2h"})
		w.control.retag(shorter, spec.Tag{Key: spec.TagTimeLimit, Value: "10m"})
		w.control.retag(none)
		w.waitIdle()
		w.wantTimedOut(shorter, "10m0s")
		w.advance(100*time.Minute - time.Second)
		w.wantRunning(id(longer, "main"), id(none, "main"))
		w.advance(time.Second)
		w.wantTimedOut(longer, "2h0m0s")
		w.advance(time.Hour)
		w.wantRunning(id(none, "main"))
	})
}

func TestTheClockOfTheMachineGoesOn(t *testing.T) {
	clock := machine.Boot()
	first := clock.Since()
	if again := clock.Since(); first <= 0 || again < first || clock.ID == "" || clock.ID != machine.Boot().ID {
		t.Errorf("boot %q: %v, then %v", clock.ID, first, again)
	}
}
