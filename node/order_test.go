package node_test

import (
	"strings"
	"testing"
	"time"

	"pinion/node/fake"
	"pinion/raftfsm/spec"
)

// after makes the container depend on others, "init SUCCESS".
func after(d spec.ContainerDefinition, others ...string) spec.ContainerDefinition {
	for _, other := range others {
		name, condition, _ := strings.Cut(other, " ")
		d.DependsOn = append(d.DependsOn, spec.ContainerDependency{ContainerName: name, Condition: condition})
	}
	return d
}

func startTimeout(d spec.ContainerDefinition, seconds int) spec.ContainerDefinition {
	d.StartTimeout = &seconds
	return d
}

func TestAContainerWaitsForWhatItDependsOn(t *testing.T) {
	cases := map[string]struct {
		condition string
		happens   func(w *world, other string)
	}{
		"until it has ended":                {"COMPLETE", func(w *world, other string) { w.machine.Exit(other, 3) }},
		"until it has ended well":           {"SUCCESS", func(w *world, other string) { w.machine.Exit(other, 0) }},
		"until its health check has passed": {"HEALTHY", func(w *world, other string) { w.machine.Answer(other, 0); w.pass(10 * time.Second) }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				w.boot()
				other := checked("other")
				other.Essential = new(bool)
				w.machine.Answer(id("t1", "other"), 1)
				task := w.cluster.run("t1", after(container("main"), "other "+c.condition), other, container("third"))
				w.pass(time.Hour)
				w.wantRunning(id(task, "other"), id(task, "third"))
				report := w.cluster.last(task)
				w.want("status", report.Status, spec.Pending)
				w.want("status of the other", report.Containers[1].Status, spec.Running)
				c.happens(w, id(task, "other"))
				w.settle()
				w.want("starts", w.machine.Starts(id(task, "main")), 1)
				w.want("status", w.cluster.last(task).Status, spec.Running)
			})
		})
	}
}

func TestAChainStartsInItsOrderAndStopsTheOtherWayRound(t *testing.T) {
	in(t, func(w *world) {
		w.machine.Teach("db", fake.Program{}) // none of them minds SIGTERM, so each takes its 30 seconds
		w.machine.Teach("app", fake.Program{})
		w.machine.Teach("web", fake.Program{})
		w.boot()
		letGo := w.runtime.HoldStart(id("t1", "db"))
		task := w.cluster.run("t1", after(container("web"), "app START"), after(container("app"), "db START"), container("db"))
		w.settle()
		w.wantRunning()
		letGo()
		w.settle()
		w.wantRunning(id(task, "app"), id(task, "db"), id(task, "web"))
		w.cluster.stop(task, "enough")
		w.pass(31 * time.Second)
		w.wantRunning(id(task, "app"), id(task, "db"))
		w.pass(30 * time.Second)
		w.wantRunning(id(task, "db"))
		w.pass(30 * time.Second)
		w.wantNothingLeft()
	})
}

func TestWaitingInVainEndsTheTask(t *testing.T) {
	failing := checked("other")
	failing.Essential = new(bool)
	cases := map[string]struct {
		condition, want string
		other           spec.ContainerDefinition
		happens         func(w *world, other string)
	}{
		"it ended badly":               {"SUCCESS", "ended with exit code 4", failing, func(w *world, other string) { w.machine.Exit(other, 4) }},
		"nobody knows how it ended":    {"SUCCESS", "nobody knows", failing, func(w *world, other string) { w.machine.Lose(other) }},
		"it ended before it was well":  {"HEALTHY", "ended before its health check passed", failing, func(w *world, other string) { w.machine.Exit(other, 0) }},
		"it took longer than it may":   {"COMPLETE", "startTimeout of 90 seconds", startTimeout(failing, 90), func(w *world, _ string) { w.pass(90 * time.Second) }},
		"it was not well soon enough":  {"HEALTHY", "startTimeout of 90 seconds", startTimeout(failing, 90), func(w *world, _ string) { w.pass(90 * time.Second) }},
		"it could not even be started": {"START", "CannotStartContainerError", failing, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				if c.happens == nil {
					w.machine.Teach("other", fake.Program{Fails: fake.ErrDown})
				}
				w.machine.Answer(id("t1", "other"), 1)
				w.boot()
				task := w.cluster.run("t1", after(container("main"), "other "+c.condition), c.other)
				w.settle()
				if c.happens != nil {
					c.happens(w, id(task, "other"))
				}
				w.pass(time.Second)
				report := w.cluster.last(task)
				w.want("status", report.Status, spec.Stopped)
				w.want("stop code", report.StopCode, spec.StopFailedToStart)
				if !strings.Contains(report.StoppedReason, c.want) {
					w.Errorf("the reason is %q", report.StoppedReason)
				}
				w.want("starts", w.machine.Starts(id(task, "main")), 0)
				w.wantNothingLeft()
			})
		})
	}
}

func TestStoppingEndsTheWait(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		task := w.cluster.run("t1", after(container("main"), "other COMPLETE"), sidecar("other"))
		w.settle()
		w.cluster.stop(task, "enough")
		w.pass(time.Second)
		report := w.cluster.last(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("stop code", report.StopCode, spec.StopUserInitiated)
		w.wantNothingLeft()
	})
}

func TestTheWaitGoesOnAfterARestartOfTheAgent(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		task := w.cluster.run("t1", after(container("main"), "other SUCCESS"), sidecar("other"))
		w.settle()
		w.crash()
		w.machine.Exit(id(task, "other"), 0)
		w.boot()
		w.wantRunning(id(task, "main"))
		w.want("status", w.cluster.last(task).Status, spec.Running)
	})
}
