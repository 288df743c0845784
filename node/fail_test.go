package node_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

func TestReasonsOfTasksThatFailToStart(t *testing.T) {
	long := strings.Repeat("ü", 2000)
	for name, c := range map[string]struct {
		spoil func(w *simHost)
		want  string
	}{
		"image cannot be pulled":    {func(w *simHost) { w.runtime.FailPull("b:1", errors.New("manifest unknown")) }, "CannotPullContainerError: pull b:1: manifest unknown"},
		"process cannot be started": {func(w *simHost) { w.machine.FailStart(id("t1", "b"), errors.New("exec /x: not found")) }, "CannotStartContainerError: exec /x: not found"},
		"paths of the host stay there": {func(w *simHost) {
			w.machine.FailStart(id("t1", "b"), fmt.Errorf("error mounting %s/containerd/x: not found", w.dir))
		}, "CannotStartContainerError: error mounting DATA-DIR/containerd/x: not found"},
		"container cannot be made":   {func(w *simHost) { w.machine.FailStart(id("t1", "b"), wrapped("no space left", runtime.ErrCreate)) }, "CannotCreateContainerError: no space left"},
		"network cannot be attached": {func(w *simHost) { w.network.Fail(errors.New("no addresses left")) }, "ContainerNetworkingError: no addresses left"},
		"reason longer than allowed": {func(w *simHost) { w.runtime.FailPull("b:1", errors.New(long)) }, "CannotPullContainerError: pull b:1: " + strings.Repeat("ü", 1024-len("CannotPullContainerError: pull b:1: "))},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.boot()
				c.spoil(w)
				task := w.control.run("t1", container("a"), container("b"))
				w.advance(time.Second)
				report := w.control.lastReport(task)
				w.want("status", report.Status, spec.Stopped)
				w.want("stop code", report.StopCode, spec.StopFailedToStart)
				w.want("reason", report.StoppedReason, c.want)
				w.want("has a start", report.Times.Started.IsZero(), true)
				if !slices.ContainsFunc(report.Containers, func(r spec.ContainerReport) bool { return r.Reason == c.want }) {
					w.Errorf("no container has the reason: %+v", report.Containers)
				}
				w.wantNothingLeft()
			})
		})
	}
}

func TestWhatAFailedStartLeftAfterAllGoesBeforeStopped(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		letGo := w.runtime.HoldStart(id("t1", "main"))
		w.machine.FailStart(id("t1", "main"), errors.New("connection lost"))
		w.control.run("t1", container("main"))
		w.waitIdle()
		w.machine.AddCreated(runtime.ExistingContainer{ID: id("t1", "main"), TaskID: "t1", Name: "main"})
		w.control.setDown(true) // STOPPED is not heard, so nothing else is cleared
		letGo()
		w.waitIdle()
		w.want("containers", len(w.machine.All()), 0)
	})
}

func TestOutOfMemoryIsTold(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.machine.OOM(id(task, "main"))
		w.waitIdle()
		report := w.control.lastReport(task)
		w.want("exit code", code(report, 0), 137)
		w.want("reason", report.Containers[0].Reason, "OutOfMemoryError: Container killed due to memory usage")
	})
}

func TestAnExitCodeThatIsLostIsSaid(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.machine.LoseExit(id(task, "main"))
		w.waitIdle()
		report := w.control.lastReport(task)
		w.want("exit code", code(report, 0), -100)
		w.want("reason", report.Containers[0].Reason, "The exit code is not known: the shim died")
	})
}

// wrapped is an error with a text of its own that is also err.
func wrapped(text string, err error) error { return wrappedError{text, err} }

type wrappedError struct {
	text string
	err  error
}

func (e wrappedError) Error() string { return e.text }
func (e wrappedError) Unwrap() error { return e.err }
