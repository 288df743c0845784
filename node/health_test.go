package node_test

import (
	"testing"
	"time"

	"pinion/node/runtime/fake"
	"pinion/raftfsm/spec"
)

// checked is a container with a health check every 10 seconds that may fail twice, and has 5 seconds.
func checked(name string, changes ...func(*spec.HealthCheck)) spec.ContainerDefinition {
	d := container(name)
	d.HealthCheck = &spec.HealthCheck{Command: []string{"CMD", "probe", name}, Interval: 10, Timeout: 5, Retries: 3}
	for _, change := range changes {
		change(d.HealthCheck)
	}
	return d
}

func startPeriod(seconds int) func(*spec.HealthCheck) {
	return func(h *spec.HealthCheck) { h.StartPeriod = &seconds }
}

func (w *simHost) wantHealth(task string, want spec.Health) {
	w.Helper()
	w.want("health", w.control.lastReport(task).Containers[0].Health, want)
}

func TestHealthIsWhatTheChecksFind(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", checked("main"))
		w.advance(9 * time.Second)
		w.wantHealth(task, "")
		w.advance(time.Second)
		w.wantHealth(task, spec.Healthy)
		w.machine.SetExecExit(id(task, "main"), 1)
		w.advance(20 * time.Second)
		w.wantHealth(task, spec.Healthy) // two failures
		w.advance(10 * time.Second)
		w.wantHealth(task, spec.Unhealthy)
		w.wantRunning(id(task, "main")) // nobody stops it for that
		w.machine.SetExecExit(id(task, "main"), 0)
		w.advance(10 * time.Second)
		w.wantHealth(task, spec.Healthy)
	})
}

func TestFailuresOfTheStartPeriodDoNotCount(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", checked("main", startPeriod(60)))
		w.machine.SetExecExit(id(task, "main"), 1)
		w.advance(75 * time.Second)
		w.wantHealth(task, "")
		w.advance(10 * time.Second)
		w.wantHealth(task, spec.Unhealthy)
	})
}

func TestTheStartPeriodEndsWithTheFirstSuccess(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", checked("main", startPeriod(300)))
		w.advance(10 * time.Second)
		w.machine.SetExecExit(id(task, "main"), 1)
		w.advance(30 * time.Second)
		w.wantHealth(task, spec.Unhealthy)
	})
}

func TestACheckThatHangsHasFailed(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.machine.SetProgram("/bin/sh -c probe", fake.Program{})
		w.boot()
		task := w.control.run("t1", checked("main", func(h *spec.HealthCheck) { h.Command = []string{"CMD-SHELL", "probe"} }))
		w.advance(44 * time.Second)
		w.wantHealth(task, "")
		w.advance(time.Second)
		w.wantHealth(task, spec.Unhealthy)
	})
}

func TestAnOutageOfTheRuntimeIsNoVerdict(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", checked("main"))
		w.advance(10 * time.Second)
		w.runtime.SetDown(true)
		w.advance(10 * time.Minute)
		w.wantHealth(task, spec.Healthy)
		w.runtime.SetDown(false)
		w.machine.SetExecExit(id(task, "main"), 1)
		w.advance(30 * time.Second)
		w.wantHealth(task, spec.Unhealthy)
	})
}

func TestChecksGoOnAfterARestartOfTheAgent(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", checked("main"))
		w.advance(10 * time.Second)
		w.crash()
		w.machine.SetExecExit(id(task, "main"), 1)
		w.boot()
		w.advance(30 * time.Second)
		w.wantHealth(task, spec.Unhealthy)
	})
}

func TestChecksEndWithTheContainer(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", checked("main"))
		w.advance(25 * time.Second)
		w.machine.Exit(id(task, "main"), 0)
		w.advance(time.Minute)
		w.want("checks", w.machine.ExecCount(id(task, "main")), 2)
		w.wantNothingLeft()
	})
}
