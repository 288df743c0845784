package node_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pinion/node/task"
	"pinion/raftfsm/spec"
)

// restartable is a container that is started again when it has run for a minute, unless it ended with 0.
func restartable(name string) spec.ContainerDefinition {
	d, period := container(name), 60
	d.RestartPolicy = &spec.RestartPolicy{Enabled: true, IgnoredExitCodes: []int{0}, RestartAttemptPeriod: &period}
	return d
}

func TestAContainerIsStartedAgain(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		d := restartable("main")
		d.DockerLabels = map[string]string{"gpus": "GPU-0"}
		task := w.control.run("t1", d)
		for range 3 {
			w.advance(time.Minute)
			w.machine.Exit(id(task, "main"), 1)
			w.waitIdle()
		}
		w.want("starts", w.machine.StartCount(id(task, "main")), 4)
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Running)
		w.want("exit code", code(report, 0), -100)
		w.control.stop(task, "enough")
		w.waitIdle()
		w.want("starts", w.machine.StartCount(id(task, "main")), 4)
		w.wantNothingLeft()
	})
}

func TestAContainerStaysEnded(t *testing.T) {
	cases := map[string]struct {
		after time.Duration
		code  int
	}{
		"when it ran too short":              {59 * time.Second, 1},
		"after an exit code that is ignored": {time.Hour, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.boot()
				task := w.control.run("t1", restartable("main"))
				w.advance(c.after)
				w.machine.Exit(id(task, "main"), c.code)
				w.waitIdle()
				w.want("starts", w.machine.StartCount(id(task, "main")), 1)
				w.want("status", w.control.lastReport(task).Status, spec.Stopped)
				w.want("exit code", code(w.control.lastReport(task), 0), c.code)
			})
		})
	}
}

func TestTheTimeCountsFromTheLastStart(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", restartable("main"))
		w.advance(time.Hour)
		w.machine.Exit(id(task, "main"), 1)
		w.advance(time.Second)
		w.machine.Exit(id(task, "main"), 2)
		w.waitIdle()
		w.want("starts", w.machine.StartCount(id(task, "main")), 2)
		w.want("exit code", code(w.control.lastReport(task), 0), 2)
	})
}

func TestAStopDuringARestartEndsIt(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", restartable("main"))
		w.advance(time.Hour)
		letGo := w.runtime.HoldStart(id(task, "main"))
		w.machine.Exit(id(task, "main"), 1)
		w.waitIdle()
		w.control.stop(task, "enough")
		w.waitIdle()
		letGo()
		w.advance(time.Second)
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
		w.wantNothingLeft()
	})
}

// The reason of a container that is not started again is why not, as is that of its task; its exit code stays that of its last run.
func TestWhatCannotBeStartedAgainHasEnded(t *testing.T) {
	deleted := &task.StartError{Kind: task.KindResource, Err: errors.New("secret TOKEN of container main: there is none")}
	for name, c := range map[string]struct {
		fails func(w *simHost, hook *recordingHook, container string)
		want  string
	}{
		"its process cannot be started": {func(w *simHost, _ *recordingHook, container string) {
			w.machine.FailStart(container, errors.New("no space left on device"))
		}, "CannotStartContainerError: no space left on device"},
		"its secret was deleted": {func(_ *simHost, hook *recordingHook, _ string) { hook.err = deleted }, deleted.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				hook := &recordingHook{}
				w.hooks = hook.of
				w.boot()
				of := w.control.run("t1", restartable("main"))
				w.advance(time.Hour)
				c.fails(w, hook, id(of, "main"))
				w.machine.Exit(id(of, "main"), 9)
				w.waitIdle()
				report := w.control.lastReport(of)
				w.want("status", report.Status, spec.Stopped)
				w.want("exit code", code(report, 0), 9)
				w.want("stop code", report.StopCode, spec.StopEssentialExited)
				w.want("reason", report.StoppedReason, c.want)
				w.want("reason of the container", report.Containers[0].Reason, c.want)
				w.wantNothingLeft()
			})
		})
	}
}

func TestRestartsGoOnAfterARestartOfTheAgent(t *testing.T) {
	for name, happens := range map[string]func(*simHost, string){
		"it ended meanwhile":          func(w *simHost, container string) { w.machine.Exit(container, 1) },
		"the agent died in a restart": func(w *simHost, container string) { w.machine.Vanish(container) },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.boot()
				task := w.control.run("t1", restartable("main"))
				w.advance(time.Hour)
				w.crash()
				happens(w, id(task, "main"))
				w.boot()
				w.wantRunning(id(task, "main"))
				w.want("starts", w.machine.StartCount(id(task, "main")), 2)
				w.want("status", w.control.lastReport(task).Status, spec.Running)
			})
		})
	}
}

// lastContainer keeps the container that was started last, or found running.
type lastContainer struct{ *task.Container }

func (*lastContainer) Name() string { return "last container" }

func (h *lastContainer) Poststart(_ context.Context, c *task.Container, _ time.Time) { h.Container = c }

func TestRestartsAreCountedOverRestartsOfTheAgent(t *testing.T) {
	simulate(t, func(w *simHost) {
		last := &lastContainer{}
		w.hooks = func(spec.Assignment) []task.Hook { return []task.Hook{last} }
		w.boot()
		of := w.control.run("t1", restartable("main"))
		end := func() {
			w.advance(time.Hour)
			w.machine.Exit(id(of, "main"), 1)
		}
		end()
		w.waitIdle()
		w.crash()
		end() // while there is no agent
		w.boot()
		w.waitIdle()
		end()
		w.waitIdle()
		w.want("restarts", task.Describe(last.Container).Restarted, int64(3))
		w.want("has finished", !task.Describe(last.Container).FinishedAt.IsZero(), false)
		w.control.stop(of, "enough")
		w.waitIdle()
		w.want("has finished", !task.Describe(last.Container).FinishedAt.IsZero(), true)
	})
}
