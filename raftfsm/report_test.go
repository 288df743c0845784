package raftfsm

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
)

func TestReportsTellALife(t *testing.T) {
	h := newHistory(t)
	h.launch(t, Launch{Tasks: []*Task{task("t1", "h1", "h1-gpu0")}})
	exit := 3
	steps := []TaskReport{
		{Status: Pending, Times: TaskTimes{PullStarted: at(1)}},
		{Status: Running, Times: TaskTimes{PullStopped: at(2), Started: at(3)}, Containers: []ContainerReport{{Name: "main",
			Status: Running, RuntimeID: "r", ImageDigest: "sha256:d", Bindings: []NetworkBinding{{HostPort: 80}}}}},
		{Containers: []ContainerReport{{Name: "main", Health: Healthy}}},
		{Containers: []ContainerReport{{Name: "main", Health: Unhealthy}}},
		{Status: Stopping, StopCode: StopEssentialExited, StoppedReason: "Essential container in task exited",
			Containers: []ContainerReport{{Name: "main", Status: Stopped, ExitCode: &exit, Reason: "boom"}}},
		{Status: Stopped, Times: TaskTimes{ExecutionStopped: at(4), Stopped: at(5)}},
	}
	for _, step := range steps {
		step.TaskID = "t1"
		if unknown := h.report(t, "h1", step); len(unknown) != 0 {
			t.Fatalf("unknown: %v", unknown)
		}
	}
	want := task("t1", "h1", "h1-gpu0")
	want.LastStatus, want.DesiredStatus, want.Version = Stopped, Stopped, 7
	want.StopCode, want.StoppedReason = StopEssentialExited, "Essential container in task exited"
	want.Times = TaskTimes{PullStarted: at(1), PullStopped: at(2), Started: at(3), ExecutionStopped: at(4), Stopped: at(5)}
	main := &want.Containers[0]
	main.LastStatus, main.ExitCode, main.Reason = Stopped, &exit, "boom"
	main.RuntimeID, main.ImageDigest, main.Bindings, main.Health = "r", "sha256:d", []NetworkBinding{{HostPort: 80}}, Unhealthy
	if got := h.View().Task("t1"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAReportThatSaysNothingNewChangesNothing(t *testing.T) {
	running := TaskReport{TaskID: "t1", Status: Running, Times: TaskTimes{Started: at(1)},
		Containers: []ContainerReport{{Name: "main", Status: Running, RuntimeID: "r"}}}
	cases := map[string]TaskReport{
		"the same again":         running,
		"an earlier status":      {TaskID: "t1", Status: Pending, Containers: []ContainerReport{{Name: "main", Status: Pending}}},
		"nothing but the id":     {TaskID: "t1"},
		"a status nobody knows":  {TaskID: "t1", Status: "DREAMING"},
		"an unknown container":   {TaskID: "t1", Containers: []ContainerReport{{Name: "other", Status: Stopped}}},
		"a container gone blank": {TaskID: "t1", Containers: []ContainerReport{{Name: "main"}}},
	}
	for name, report := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.launch(t, Launch{Tasks: []*Task{task("t1", "h1")}})
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
	h.report(t, "h1", TaskReport{TaskID: "t1", Status: Stopped, Times: TaskTimes{Stopped: at(2)}})
	before := h.snapshot(t)
	late := TaskReport{TaskID: "t1", Status: Stopped, StopCode: StopFailedToStart, Times: TaskTimes{Stopped: at(9)}}
	if unknown := h.report(t, "h1", late); len(unknown) != 0 {
		t.Errorf("a late repeat is answered with %v", unknown)
	}
	if unknown := h.report(t, "h1", TaskReport{TaskID: "t1", Status: Running}); !slices.Equal(unknown, []string{"t1"}) {
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
	got := h.report(t, "h1", TaskReport{TaskID: "gone", Status: Running}, TaskReport{TaskID: "mine", Status: Stopping},
		TaskReport{TaskID: "other", Status: Stopped})
	if !slices.Equal(got, []string{"gone", "other"}) {
		t.Errorf("unknown: %v", got)
	}
	if h.View().Task("mine").LastStatus != Stopping || h.View().Task("other").LastStatus != Running {
		t.Error("the wrong tasks were changed")
	}
}

func TestTheEndIsExplainedByTheLife(t *testing.T) {
	cases := []struct {
		name   string
		report TaskReport
		code   StopCode
		reason string
	}{
		{"never started", TaskReport{}, StopFailedToStart, ""},
		{"never started, with a reason", TaskReport{StoppedReason: "CannotPullContainerError: no"}, StopFailedToStart, "CannotPullContainerError: no"},
		{"ran", TaskReport{Times: TaskTimes{Started: at(1)}}, StopEssentialExited, "Essential container in task exited"},
		{"the host knows", TaskReport{StopCode: StopEssentialExited, StoppedReason: "out"}, StopEssentialExited, "out"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory(t)
			h.launch(t, Launch{Tasks: []*Task{task("t1", "h1")}})
			c.report.TaskID, c.report.Status, c.report.Times.Stopped = "t1", Stopped, at(2)
			h.report(t, "h1", c.report)
			if got := h.View().Task("t1"); got.StopCode != c.code || got.StoppedReason != c.reason || got.DesiredStatus != Stopped {
				t.Errorf("%s, %q, desired %s", got.StopCode, got.StoppedReason, got.DesiredStatus)
			}
		})
	}
}
