package node_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"pinion/node/runtime/fake"
	"pinion/raftfsm/spec"
)

func TestATaskRunsAndEnds(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.assign("t1", spec.TaskDefinition{Containers: []spec.ContainerDefinition{withGPUs("train", "GPU-1,GPU-0")}})
		w.waitIdle()
		w.wantRunning(id("t1", "train"))
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Running)
		w.want("container's status", report.Containers[0].Status, spec.Running)
		w.want("runtime id", report.Containers[0].RuntimeID, id("t1", "train"))
		if report.Times.PullStarted.IsZero() || report.Times.PullStopped.IsZero() || report.Times.Started.IsZero() {
			w.Errorf("times are missing: %+v", report.Times)
		}
		given := w.runtime.Spec(id("t1", "train"))
		if !slices.Contains(given.Env, "NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-0") || !slices.Equal(given.GPUs, []string{"GPU-1", "GPU-0"}) {
			w.Errorf("the container was given %v and %v", given.GPUs, given.Env)
		}
		w.want("network", given.Network, "/netns/"+id("t1", "train"))

		w.advance(time.Hour)
		w.machine.Exit(id("t1", "train"), 3)
		w.waitIdle()
		report = w.control.lastReport(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("exit code", code(report, 0), 3)
		w.want("stop code", report.StopCode, spec.StopEssentialExited)
		w.want("reason", report.StoppedReason, "Essential container in task exited")
		if got := report.Times.ExecutionStopped.Sub(report.Times.Started); got != time.Hour {
			w.Errorf("it ran for %v, want an hour", got)
		}
		if report.Times.Stopping.IsZero() || report.Times.Stopped.IsZero() {
			w.Errorf("times are missing: %+v", report.Times)
		}
		w.wantNothingLeft()
	})
}

func TestATaskThatEndsAtOnceHasRun(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.machine.SetProgram("quick", fake.Program{ExitCode: func([]string) *int { return fake.Code(0) }})
		w.boot()
		task := w.control.run("t1", container("quick"))
		w.waitIdle()
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("exit code", code(report, 0), 0)
		w.want("has a start", report.Times.Started.IsZero(), false)
		w.wantNothingLeft()
	})
}

func TestContainersStartInOrderAndRunningMeansAll(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		letGo := w.runtime.HoldPull("second:1")
		task := w.control.run("t1", container("first"), container("second"))
		w.advance(time.Second)
		w.want("status while pulling", w.control.lastReport(task).Status, spec.Pending)
		w.want("pull's start is told", w.control.lastReport(task).Times.PullStarted.IsZero(), false)
		if pulls := w.node.Pulls(task); len(pulls) != 1 || pulls[0].Done != 50 {
			w.Errorf("pulls are %+v", pulls)
		}
		w.wantRunning()
		letGo()
		w.waitIdle()
		w.wantRunning(id(task, "first"), id(task, "second"))
		w.want("status", w.control.lastReport(task).Status, spec.Running)
		w.want("pulls afterwards", len(w.node.Pulls(task)), 0)
	})
}

func TestVolumesOfAnotherContainer(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		source, taker := container("source"), container("taker")
		source.MountPoints = []spec.MountPoint{{SourceVolume: "data", ContainerPath: "/data"}}
		taker.VolumesFrom = []spec.VolumeFrom{{SourceContainer: "source", ReadOnly: true}}
		task := w.control.assign("t1", spec.TaskDefinition{
			Volumes: []spec.Volume{{Name: "data"}}, Containers: []spec.ContainerDefinition{source, taker},
		})
		w.waitIdle()
		if got := w.runtime.Spec(id(task, "taker")).Def.MountPoints; !slices.Equal(got, []spec.MountPoint{{SourceVolume: "data", ContainerPath: "/data", ReadOnly: true}}) {
			t.Errorf("it mounts %+v", got)
		}
	})
}

func TestAnEssentialExitStopsTheOthers(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"), sidecar("helper"))
		w.waitIdle()
		w.machine.Exit(id(task, "main"), 1)
		w.waitIdle()
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("main's exit", code(report, 0), 1)
		w.want("helper's exit", code(report, 1), 128+int(syscall.SIGTERM))
		w.want("stop code", report.StopCode, spec.StopEssentialExited)
		w.wantNothingLeft()
	})
}

func TestASidecarMayEnd(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"), sidecar("helper"))
		w.waitIdle()
		w.machine.Exit(id(task, "helper"), 2)
		w.waitIdle()
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Running)
		w.want("helper's status", report.Containers[1].Status, spec.Stopped)
		w.want("helper's exit", code(report, 1), 2)
		w.wantRunning(id(task, "main"))
	})
}

func TestATaskOfSidecarsOnlyEndsWithTheLast(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", sidecar("one"), sidecar("two"))
		w.waitIdle()
		w.machine.Exit(id(task, "one"), 0)
		w.waitIdle()
		w.want("status", w.control.lastReport(task).Status, spec.Running)
		w.machine.Exit(id(task, "two"), 0)
		w.waitIdle()
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
	})
}

func TestStoppingWaitsForTheStopTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		timeout *int
		want    time.Duration
	}{
		"ECS's default":      {nil, 30 * time.Second},
		"as defined":         {new(5), 5 * time.Second},
		"no patience at all": {new(0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.machine.SetProgram("stubborn", fake.Program{})
				w.boot()
				stubborn := container("stubborn")
				stubborn.StopTimeout = c.timeout
				task := w.control.run("t1", stubborn)
				w.waitIdle()
				w.control.stop(task, "enough")
				w.advance(c.want + time.Millisecond)
				report := w.control.lastReport(task)
				w.want("status", report.Status, spec.Stopped)
				w.want("exit code", code(report, 0), 137)
				w.want("stop code", report.StopCode, spec.StopUserInitiated)
				w.want("reason", report.StoppedReason, "enough")
				w.want("time from SIGTERM to SIGKILL", report.Times.ExecutionStopped.Sub(report.Times.Stopping), c.want)
				want, got := []spec.Status{spec.Running, spec.Stopping, spec.Stopped}, w.control.statuses(task)
				if c.want == 0 { // reports say the latest, so a status that lasts no time may be left out
					want = []spec.Status{spec.Running, spec.Stopped}
					got = slices.DeleteFunc(got, func(s spec.Status) bool { return s == spec.Stopping })
				}
				if !slices.Equal(got, want) {
					w.Errorf("statuses heard: %v", got)
				}
			})
		})
	}
}

func TestStoppingBreaksOffAPull(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.runtime.HoldPull("main:1")
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.control.stop(task, "changed my mind")
		w.waitIdle()
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("stop code", report.StopCode, spec.StopUserInitiated)
		w.want("exit code", code(report, 0), -100)
		w.want("starts", w.machine.StartCount(id(task, "main")), 0)
		w.wantNothingLeft()
	})
}

func TestStoppingBetweenTwoStartsStartsNoMore(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		letGo := w.runtime.HoldStart(id("t1", "first"))
		task := w.control.run("t1", container("first"), container("second"))
		w.waitIdle()
		w.control.stop(task, "")
		w.waitIdle()
		letGo()
		w.waitIdle()
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
		w.want("first's exit", code(w.control.lastReport(task), 0), 128+int(syscall.SIGTERM))
		w.want("starts of second", w.machine.StartCount(id(task, "second")), 0)
		w.wantNothingLeft()
	})
}

func TestLeavingDoesNotBreakOffAStart(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		letGo := w.runtime.HoldStart(id("t1", "main"))
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		go func() { time.Sleep(time.Second); letGo() }()
		w.crash()
		w.wantRunning(id(task, "main"))
		w.boot()
		w.want("status", w.control.lastReport(task).Status, spec.Running)
		w.want("starts", w.machine.StartCount(id(task, "main")), 1)
	})
}

func TestPublishedPortsAreReported(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		web := container("web")
		web.PortMappings = []spec.PortMapping{{ContainerPort: 80, Protocol: "tcp"}}
		task := w.control.run("t1", web)
		w.waitIdle()
		bindings := w.control.lastReport(task).Containers[0].Bindings
		if len(bindings) != 1 || bindings[0].ContainerPort != 80 || bindings[0].HostPort == 0 {
			w.Errorf("bindings are %+v", bindings)
		}
	})
}
