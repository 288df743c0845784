package node_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"pinion/node/runtime"
	"pinion/node/runtime/fake"
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
		happens   func(w *simHost, other string)
	}{
		"until it has ended":                {"COMPLETE", func(w *simHost, other string) { w.machine.Exit(other, 3) }},
		"until it has ended well":           {"SUCCESS", func(w *simHost, other string) { w.machine.Exit(other, 0) }},
		"until its health check has passed": {"HEALTHY", func(w *simHost, other string) { w.machine.SetExecExit(other, 0); w.advance(10 * time.Second) }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.boot()
				other := checked("other")
				other.Essential = new(bool)
				w.machine.SetExecExit(id("t1", "other"), 1)
				task := w.control.run("t1", after(container("main"), "other "+c.condition), other, container("third"))
				w.advance(time.Hour)
				w.wantRunning(id(task, "other"), id(task, "third"))
				report := w.control.lastReport(task)
				w.want("status", report.Status, spec.Pending)
				w.want("status of the other", report.Containers[1].Status, spec.Running)
				c.happens(w, id(task, "other"))
				w.waitIdle()
				w.want("starts", w.machine.StartCount(id(task, "main")), 1)
				w.want("status", w.control.lastReport(task).Status, spec.Running)
			})
		})
	}
}

func TestAChainStartsInItsOrderAndStopsTheOtherWayRound(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.machine.SetProgram("db", fake.Program{}) // none of them minds SIGTERM, so each takes its 30 seconds
		w.machine.SetProgram("app", fake.Program{})
		w.machine.SetProgram("web", fake.Program{})
		w.boot()
		letGo := w.runtime.HoldStart(id("t1", "db"))
		task := w.control.run("t1", after(container("web"), "app START"), after(container("app"), "db START"), container("db"))
		w.waitIdle()
		w.wantRunning()
		letGo()
		w.waitIdle()
		w.wantRunning(id(task, "app"), id(task, "db"), id(task, "web"))
		w.control.stop(task, "enough")
		w.advance(31 * time.Second)
		w.wantRunning(id(task, "app"), id(task, "db"))
		w.advance(30 * time.Second)
		w.wantRunning(id(task, "db"))
		w.advance(30 * time.Second)
		w.wantNothingLeft()
	})
}

func TestWaitingInVainEndsTheTask(t *testing.T) {
	failing := checked("other")
	failing.Essential = new(bool)
	cases := map[string]struct {
		condition, want string
		other           spec.ContainerDefinition
		happens         func(w *simHost, other string)
	}{
		"it ended badly":               {"SUCCESS", "ended with exit code 4", failing, func(w *simHost, other string) { w.machine.Exit(other, 4) }},
		"its exit code is unknown":     {"SUCCESS", "an unknown exit code", failing, func(w *simHost, other string) { w.machine.LoseExit(other) }},
		"it ended before it was well":  {"HEALTHY", "ended before its health check passed", failing, func(w *simHost, other string) { w.machine.Exit(other, 0) }},
		"it took longer than it may":   {"COMPLETE", "startTimeout of 90 seconds", startTimeout(failing, 90), func(w *simHost, _ string) { w.advance(90 * time.Second) }},
		"it was not well soon enough":  {"HEALTHY", "startTimeout of 90 seconds", startTimeout(failing, 90), func(w *simHost, _ string) { w.advance(90 * time.Second) }},
		"it could not even be started": {"START", "CannotStartContainerError", failing, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				if c.happens == nil {
					w.machine.SetProgram("other", fake.Program{StartError: fake.ErrDown})
				}
				w.machine.SetExecExit(id("t1", "other"), 1)
				w.boot()
				task := w.control.run("t1", after(container("main"), "other "+c.condition), c.other)
				w.waitIdle()
				if c.happens != nil {
					c.happens(w, id(task, "other"))
				}
				w.advance(time.Second)
				report := w.control.lastReport(task)
				w.want("status", report.Status, spec.Stopped)
				w.want("stop code", report.StopCode, spec.StopFailedToStart)
				if !strings.Contains(report.StoppedReason, c.want) {
					w.Errorf("the reason is %q", report.StoppedReason)
				}
				w.want("starts", w.machine.StartCount(id(task, "main")), 0)
				w.wantNothingLeft()
			})
		})
	}
}

func TestStoppingEndsTheWait(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", after(container("main"), "other COMPLETE"), sidecar("other"))
		w.waitIdle()
		w.control.stop(task, "enough")
		w.advance(time.Second)
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("stop code", report.StopCode, spec.StopUserInitiated)
		w.wantNothingLeft()
	})
}

func TestTheWaitGoesOnAfterARestartOfTheAgent(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", after(container("main"), "other SUCCESS"), sidecar("other"))
		w.waitIdle()
		w.crash()
		w.machine.Exit(id(task, "other"), 0)
		w.boot()
		w.wantRunning(id(task, "main"))
		w.want("status", w.control.lastReport(task).Status, spec.Running)
	})
}

// A container starts after those that it is linked to, and has their names.
func TestLinkedContainersHaveTheirNames(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		letGo := w.runtime.HoldStart(id("t1", "db"))
		main := container("main")
		main.Links = []string{"db:database", "cache"}
		task := w.control.run("t1", main, container("cache"), container("db"))
		w.waitIdle()
		w.wantRunning(id(task, "cache"))
		letGo()
		w.waitIdle()
		w.wantRunning(id(task, "cache"), id(task, "db"), id(task, "main"))
		hosts, err := os.ReadFile(w.runtime.Spec(id(task, "main")).HostsFile)
		if err != nil {
			t.Fatal(err)
		}
		for name, other := range map[string]string{"database": "db", "db": "db", "cache": "cache"} {
			attached, err := w.network.Attach(t.Context(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: id(task, other)})
			if err != nil || strings.Count(string(hosts), attached.Address+"\t"+name+"\n") != 1 {
				t.Errorf("hosts has not %s at %s once: %q, %v", name, attached.Address, hosts, err)
			}
		}
	})
}
