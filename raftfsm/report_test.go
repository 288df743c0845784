package raftfsm

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
)

func TestReportsTellALife(t *testing.T) {
	h := newHistory(t)
	h.launch(t, Launch{Tasks: []*spec.Task{task("t1", "h1", "h1-gpu0")}})
	exit := 3
	steps := []spec.TaskReport{
		{Status: spec.Pending, Times: spec.TaskTimes{PullStarted: at(1)}},
		{Status: spec.Running, Times: spec.TaskTimes{PullStopped: at(2), Started: at(3)}, Containers: []spec.ContainerReport{{Name: "main",
			Status: spec.Running, RuntimeID: "r", ImageDigest: "sha256:d", Bindings: []spec.NetworkBinding{{HostPort: 80}}}}},
		{Containers: []spec.ContainerReport{{Name: "main", Health: spec.Healthy}}},
		{Containers: []spec.ContainerReport{{Name: "main", Health: spec.Unhealthy}}},
		{Status: spec.Stopping, StopCode: spec.StopEssentialExited, StoppedReason: "Essential container in task exited",
			Containers: []spec.ContainerReport{{Name: "main", Status: spec.Stopped, ExitCode: &exit, Reason: "boom", PeakMemory: 7, GPUTotals: &gpuuse.Totals{MeasuredSeconds: 60, BusySeconds: 50, PeakMemoryMiB: 9}}}},
		{Containers: []spec.ContainerReport{{Name: "main", GPUTotals: &gpuuse.Totals{MeasuredSeconds: 70, BusySeconds: 3, Joules: 5}}}}, // of an agent that has forgotten some
		{Status: spec.Stopped, Times: spec.TaskTimes{ExecutionStopped: at(4), Stopped: at(5)}},
	}
	for _, step := range steps {
		step.TaskID = "t1"
		if unknown := h.report(t, "h1", step); len(unknown) != 0 {
			t.Fatalf("unknown: %v", unknown)
		}
	}
	want := task("t1", "h1", "h1-gpu0")
	want.LastStatus, want.DesiredStatus, want.Version = spec.Stopped, spec.Stopped, 8
	want.StopCode, want.StoppedReason = spec.StopEssentialExited, "Essential container in task exited"
	want.Times = spec.TaskTimes{PullStarted: at(1), PullStopped: at(2), Started: at(3), ExecutionStopped: at(4), Stopped: at(5)}
	main := &want.Containers[0]
	main.LastStatus, main.ExitCode, main.Reason = spec.Stopped, &exit, "boom"
	main.PeakMemory, main.GPUTotals = 7, &gpuuse.Totals{MeasuredSeconds: 70, BusySeconds: 50, Joules: 5, PeakMemoryMiB: 9}
	main.RuntimeID, main.ImageDigest, main.Bindings, main.Health = "r", "sha256:d", []spec.NetworkBinding{{HostPort: 80}}, spec.Unhealthy
	if got := h.View().Task("t1"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAReportThatSaysNothingNewChangesNothing(t *testing.T) {
	running := spec.TaskReport{TaskID: "t1", Status: spec.Running, Times: spec.TaskTimes{Started: at(1)},
		Containers: []spec.ContainerReport{{Name: "main", Status: spec.Running, RuntimeID: "r"}}}
	cases := map[string]spec.TaskReport{
		"the same again":         running,
		"an earlier status":      {TaskID: "t1", Status: spec.Pending, Containers: []spec.ContainerReport{{Name: "main", Status: spec.Pending}}},
		"nothing but the id":     {TaskID: "t1"},
		"a status nobody knows":  {TaskID: "t1", Status: "DREAMING"},
		"an unknown container":   {TaskID: "t1", Containers: []spec.ContainerReport{{Name: "other", Status: spec.Stopped}}},
		"a container gone blank": {TaskID: "t1", Containers: []spec.ContainerReport{{Name: "main"}}},
	}
	for name, report := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.launch(t, Launch{Tasks: []*spec.Task{task("t1", "h1")}})
			h.report(t, "h1", running)
			before := h.snapshot(t)
			h.report(t, "h1", report)
			if !bytes.Equal(before, h.snapshot(t)) {
				t.Errorf("the task became %+v", h.View().Task("t1"))
			}
		})
	}
}

func TestAStoppedTaskNeverChanges(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1", "h1-gpu0"))
	h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(2)}})
	before := h.snapshot(t)
	late := spec.TaskReport{TaskID: "t1", Status: spec.Stopped, StopCode: spec.StopFailedToStart, Times: spec.TaskTimes{Stopped: at(9)}}
	if unknown := h.report(t, "h1", late); len(unknown) != 0 {
		t.Errorf("a late repeat is answered with %v", unknown)
	}
	if unknown := h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Running}); !slices.Equal(unknown, []string{"t1"}) {
		t.Errorf("a host that still runs it is told %v", unknown)
	}
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Errorf("it became %+v", h.View().Task("t1"))
	}
}

func TestTasksThatAreNotTheHostsAreNamed(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutHost{hostWith("h2", 1)})
	h.running(t, task("mine", "h1"))
	h.running(t, task("other", "h2"))
	got := h.report(t, "h1", spec.TaskReport{TaskID: "gone", Status: spec.Running}, spec.TaskReport{TaskID: "mine", Status: spec.Stopping},
		spec.TaskReport{TaskID: "other", Status: spec.Stopped})
	if !slices.Equal(got, []string{"gone", "other"}) {
		t.Errorf("unknown: %v", got)
	}
	if h.View().Task("mine").LastStatus != spec.Stopping || h.View().Task("other").LastStatus != spec.Running {
		t.Error("the wrong tasks were changed")
	}
}

func TestTheEndIsExplainedByTheLife(t *testing.T) {
	cases := []struct {
		name   string
		report spec.TaskReport
		code   spec.StopCode
		reason string
	}{
		{"never started", spec.TaskReport{}, spec.StopFailedToStart, ""},
		{"never started, with a reason", spec.TaskReport{StoppedReason: "CannotPullContainerError: no"}, spec.StopFailedToStart, "CannotPullContainerError: no"},
		{"ran", spec.TaskReport{Times: spec.TaskTimes{Started: at(1)}}, spec.StopEssentialExited, "Essential container in task exited"},
		{"the host knows", spec.TaskReport{StopCode: spec.StopEssentialExited, StoppedReason: "out"}, spec.StopEssentialExited, "out"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory(t)
			h.launch(t, Launch{Tasks: []*spec.Task{task("t1", "h1")}})
			c.report.TaskID, c.report.Status, c.report.Times.Stopped = "t1", spec.Stopped, at(2)
			h.report(t, "h1", c.report)
			if got := h.View().Task("t1"); got.StopCode != c.code || got.StoppedReason != c.reason || got.DesiredStatus != spec.Stopped {
				t.Errorf("%s, %q, desired %s", got.StopCode, got.StoppedReason, got.DesiredStatus)
			}
		})
	}
}
