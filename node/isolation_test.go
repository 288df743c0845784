package node_test

import (
	"strings"
	"testing"
	"time"

	"pinion/node/runtime/fake"
	"pinion/raftfsm/spec"
)

// A host starts nothing that reaches past its containers unless its operator allows it, whatever the pool has assigned to it.
func TestAHostDoesNotTakeThePoolsWord(t *testing.T) {
	privileged, network := container("main"), container("main")
	privileged.Privileged = new(true)
	network.LinuxParameters = &spec.LinuxParameters{Capabilities: &spec.Capabilities{Add: []string{"NET_ADMIN"}}}
	everything := []string{spec.AllowPrivileged, spec.AllowHostPID, spec.AllowHostIPC, "NET_ADMIN", "ALL"}
	for name, c := range map[string]struct {
		definition spec.TaskDefinition
		allow      []string
		byAdmin    bool
		want       string
	}{
		"a mount of the whole host": {spec.TaskDefinition{Volumes: []spec.Volume{{Name: "v", Host: &spec.HostVolume{SourcePath: "/"}}}}, everything, true, "volume v: / is in no directory"},
		"privileged, with GPUs":     {spec.TaskDefinition{Containers: []spec.ContainerDefinition{privileged}}, everything, true, "container main is privileged"},
		"the host's processes":      {spec.TaskDefinition{PIDMode: "host"}, nil, true, "--allow host-pid"},
		"of a submit key":           {spec.TaskDefinition{PIDMode: "host"}, everything, false, "the role admin"},
		"the host's messages":       {spec.TaskDefinition{IPCMode: "host"}, nil, true, "--allow host-ipc"},
		"a capability":              {spec.TaskDefinition{Containers: []spec.ContainerDefinition{network}}, nil, true, "--allow NET_ADMIN"},
		"what is allowed":           {spec.TaskDefinition{Containers: []spec.ContainerDefinition{network}, PIDMode: "host"}, everything, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.allow = c.allow
				w.boot()
				if len(c.definition.Containers) == 0 {
					c.definition.Containers = []spec.ContainerDefinition{container("main")}
				}
				task := w.control.assign("t1", c.definition, func(t *spec.Task) { t.ByAdmin = c.byAdmin })
				w.waitIdle()
				if c.want == "" {
					w.wantRunning(id(task, "main"))
					return
				}
				report := w.control.lastReport(task)
				w.want("stop code", report.StopCode, spec.StopFailedToStart)
				if !strings.HasPrefix(report.StoppedReason, "ResourceInitializationError: ") || !strings.Contains(report.StoppedReason, c.want) {
					w.Errorf("the reason is %q, want %q", report.StoppedReason, c.want)
				}
				w.wantNothingLeft()
			})
		})
	}
}

func TestAHostBoundsTheStopTimeout(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.maxStopTimeout = 2 * time.Minute
		w.machine.SetProgram("main", fake.Program{}) // ignores SIGTERM
		w.boot()
		stubborn := container("main")
		stubborn.StopTimeout = new(86400)
		task := w.control.run("t1", stubborn)
		w.waitIdle()
		w.control.stop(task, "enough")
		w.advance(3 * time.Minute)
		report := w.control.lastReport(task)
		w.want("status", report.Status, spec.Stopped)
		w.want("time from SIGTERM to SIGKILL", report.Times.ExecutionStopped.Sub(report.Times.Stopping), 2*time.Minute)
	})
}

// To force a stop ends the task at once, also one that is stopping and whose containers wait for one another.
func TestAForcedStopWaitsForNoTimeout(t *testing.T) {
	for name, before := range map[string]time.Duration{"at once": 0, "after a stop": time.Hour} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.machine.SetProgram("db", fake.Program{}) // ignores SIGTERM
				w.machine.SetProgram("web", fake.Program{})
				w.boot()
				db, web := container("db"), container("web")
				db.StopTimeout, web.StopTimeout = new(86400), new(86400)
				web.DependsOn = []spec.ContainerDependency{{ContainerName: "db", Condition: spec.DependStart}}
				task := w.control.run("t1", db, web)
				w.waitIdle()
				if before > 0 {
					w.control.stop(task, "enough")
					w.advance(before)
					w.want("status of a task that does not listen", w.control.lastReport(task).Status, spec.Stopping)
				}
				w.control.forceStop(task)
				w.waitIdle()
				w.want("status", w.control.lastReport(task).Status, spec.Stopped)
				w.wantNothingLeft()
			})
		})
	}
}
