package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

func TestARunningTaskIsTakenUpAfterARestart(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", withGPUs("main", "GPU-0"))
		w.waitIdle()
		started := w.control.lastReport(task).Times.Started
		w.crash()
		w.wantRunning(id(task, "main"))
		w.advance(time.Hour)
		w.boot()
		w.want("starts", w.machine.StartCount(id(task, "main")), 1)
		w.want("status", w.control.lastReport(task).Status, spec.Running)
		w.want("startedAt", w.control.lastReport(task).Times.Started, started)
		w.machine.Exit(id(task, "main"), 7)
		w.waitIdle()
		w.want("exit code", code(w.control.lastReport(task), 0), 7)
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
		w.wantNothingLeft()
	})
}

func TestTheFirstWordAfterARestartIsWhatRuns(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"), sidecar("helper"))
		w.waitIdle()
		w.machine.Exit(id(task, "helper"), 4)
		w.crash()
		w.boot()
		joined := w.control.joined[len(w.control.joined)-1]
		if len(joined) != 1 || joined[0].TaskID != task || len(joined[0].Containers) != 2 {
			w.Fatalf("the join brought %+v", joined)
		}
		slices.SortFunc(joined[0].Containers, func(a, b spec.ContainerReport) int { return len(a.Name) - len(b.Name) })
		w.want("main", joined[0].Containers[0].Status, spec.Running)
		w.want("helper", joined[0].Containers[1].Status, spec.Stopped)
		w.want("helper's exit", code(joined[0], 1), 4)
	})
}

func TestATaskThatEndedWhileTheAgentWasAwayIsReported(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"), sidecar("helper"))
		w.waitIdle()
		w.crash()
		w.machine.Exit(id(task, "main"), 9)
		w.boot()
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("exit code", code(report, 0), 9)
		w.want("stop code", report.StopCode, spec.StopEssentialExited)
		w.want("starts of helper", w.machine.StartCount(id(task, "helper")), 1)
		w.wantNothingLeft()
	})
}

func TestAStartThatWasNotHeardIsStillTheStart(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"))
		began := time.Now()
		w.waitIdle()
		w.control.mu.Lock() // the cluster forgets what it heard, as if the reports had been lost with the agent
		a := w.control.tasks[task]
		fresh := *a.Task
		fresh.LastStatus, fresh.Times = spec.Pending, spec.TaskTimes{}
		a.Task = &fresh
		w.control.tasks[task] = a
		w.control.mu.Unlock()
		w.crash()
		w.advance(time.Minute)
		w.boot()
		w.want("status", w.control.lastReport(task).Status, spec.Running)
		if got := w.control.lastReport(task).Times.Started; !got.Equal(began) {
			w.Errorf("startedAt is %v, want %v", got, began)
		}
		w.want("starts", w.machine.StartCount(id(task, "main")), 1)
	})
}

func TestATaskHalfStartedIsContinued(t *testing.T) {
	simulate(t, func(w *simHost) {
		// The agent died after the start of the first container and in the middle of the third one's.
		if err := w.machine.Open().Start(w.Context(), specOf("t1", "first")); err != nil {
			w.Fatal(err)
		}
		w.machine.AddCreated(runtime.ExistingContainer{ID: id("t1", "third"), TaskID: "t1", Name: "third"})
		task := w.control.run("t1", container("first"), container("second"), container("third"))
		w.boot()
		w.wantRunning(id(task, "first"), id(task, "second"), id(task, "third"))
		for _, name := range []string{"first", "second", "third"} {
			w.want("starts of "+name, w.machine.StartCount(id(task, name)), 1)
		}
		w.want("pulls of first", w.runtime.PullCount("first:1"), 0)
		w.want("status", w.control.lastReport(task).Status, spec.Running)
	})
}

func TestAHalfStartedTaskWhoseEssentialContainerEndedIsNotContinued(t *testing.T) {
	simulate(t, func(w *simHost) {
		if err := w.machine.Open().Start(w.Context(), specOf("t1", "first")); err != nil {
			w.Fatal(err)
		}
		w.machine.Exit(id("t1", "first"), 6)
		task := w.control.run("t1", container("first"), container("second"))
		w.boot()
		w.want("starts of second", w.machine.StartCount(id(task, "second")), 0)
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
		w.want("exit code", code(w.control.lastReport(task), 0), 6)
		w.wantNothingLeft()
	})
}

func TestStoppingGoesOnAfterARestart(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.machine.SetProgram("main", neverLeaves)
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.control.stop(task, "maintenance")
		w.advance(10 * time.Second)
		w.crash()
		w.boot()
		w.want("status", w.control.lastReport(task).Status, spec.Stopping)
		w.advance(31 * time.Second)
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("stop code", report.StopCode, spec.StopUserInitiated)
		w.want("reason", report.StoppedReason, "maintenance")
		w.wantNothingLeft()
	})
}

func TestStoppedIsSaidAgainWhenTheAgentDiedBeforeItWasHeard(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.control.setDown(true)
		w.machine.Exit(id(task, "main"), 5)
		w.advance(time.Minute)
		w.want("containers kept", len(w.machine.All()), 1)
		w.crash()
		w.boot()
		w.advance(time.Minute)
		w.want("containers kept", len(w.machine.All()), 1)
		w.control.setDown(false)
		w.advance(5 * time.Second)
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
		w.want("exit code", code(w.control.lastReport(task), 0), 5)
		w.want("stop code", w.control.lastReport(task).StopCode, spec.StopEssentialExited)
		w.want("starts", w.machine.StartCount(id(task, "main")), 1)
		w.wantNothingLeft()
	})
}

func TestAContainerThatVanishedIsNotStartedAgain(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.crash()
		w.machine.Vanish(id(task, "main"))
		w.boot()
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("exit code", code(report, 0), -100)
		w.want("reason", report.Containers[0].Reason, "The exit code is not known: the container is not on this host any more")
		w.want("starts", w.machine.StartCount(id(task, "main")), 1)
		w.wantNothingLeft()
	})
}

// The machine lost power before the note of a start had reached the disk: only the pool knows of it.
func TestAStartThatOnlyThePoolKnowsIsNotDoneAgain(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.crash()
		w.machine.Vanish(id(task, "main"))
		w.machine.AddCreated(runtime.ExistingContainer{ID: id(task, "main"), TaskID: task, Name: "main"})
		w.boot()
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("exit code", code(report, 0), -100)
		w.want("starts", w.machine.StartCount(id(task, "main")), 1)
		w.wantNothingLeft()
	})
}

// After a reboot the driver takes a minute to load. The host is there meanwhile, without GPUs, and what ran before has ended.
func TestARebootWhoseGPUsComeAMinuteLate(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		before := w.control.run("t1", withGPUs("main", "GPU-0"))
		w.waitIdle()
		w.crash()
		w.machine.LoseExit(id(before, "main"))
		devices := w.gpus.set(nil, errors.New("the driver is not loaded yet"))
		w.boot()
		w.want("GPUs", len(w.control.hosts[hostID].GPUs.Devices), 0)
		w.want("status", w.control.lastReport(before).Status, spec.Stopping) // until it is known that its GPU is idle
		plain := w.control.run("t2", container("plain"))
		w.waitIdle()
		w.want("a task without GPUs", w.control.lastReport(plain).Status, spec.Running)
		w.advance(time.Minute)
		w.gpus.set(devices, nil)
		w.gpus.changed <- struct{}{}
		w.advance(time.Second)
		w.want("GPUs", len(w.control.hosts[hostID].GPUs.Devices), 2)
		w.want("status", w.control.lastReport(before).Status, spec.Stopped)
		after := w.control.run("t3", withGPUs("late", "GPU-0,GPU-1"))
		w.waitIdle()
		w.want("a task with GPUs", w.control.lastReport(after).Status, spec.Running)
		w.want("starts before", w.machine.StartCount(id(before, "main")), 1)
	})
}

func TestContainersOfUnknownTasksAreStopped(t *testing.T) {
	simulate(t, func(w *simHost) {
		if err := w.machine.Open().Start(w.Context(), specOf("old", "main")); err != nil {
			w.Fatal(err)
		}
		if err := w.machine.Open().Start(w.Context(), specOf("ended", "main")); err != nil {
			w.Fatal(err)
		}
		w.machine.Exit(id("ended", "main"), 0)
		leftover := filepath.Join(w.dir, "tasks", "gone", "containers", id("gone", "main"))
		if err := os.MkdirAll(leftover, 0o755); err != nil {
			w.Fatal(err)
		}
		for _, c := range []string{id("old", "main"), id("gone", "main")} {
			if _, err := w.network.Attach(w.Context(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: c}); err != nil {
				w.Fatal(err)
			}
		}
		w.boot()
		w.advance(time.Second)
		w.wantRunning()
		w.wantNothingLeft()
	})
}

func TestTheRuntimeMayBeDownForAWhile(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.runtime.SetDown(true)
		w.control.stop(task, "")
		w.advance(time.Minute)
		w.wantRunning(id(task, "main"))
		w.runtime.SetDown(false)
		w.advance(time.Minute)
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
		w.wantNothingLeft()
	})
}

func TestAnErrExistsIsAnAdoption(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		if err := w.machine.Open().Start(w.Context(), specOf("t1", "main")); err != nil {
			w.Fatal(err)
		}
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.want("status", w.control.lastReport(task).Status, spec.Running)
		w.machine.Exit(id(task, "main"), 8)
		w.waitIdle()
		w.want("exit code", code(w.control.lastReport(task), 0), 8)
		w.want("starts", w.machine.StartCount(id(task, "main")), 1)
	})
}

func specOf(task, name string) runtime.ContainerSpec {
	def := container(name)
	return runtime.ContainerSpec{ID: id(task, name), Task: &spec.Task{ID: task}, Def: &def}
}
