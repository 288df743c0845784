package raftfsm

import (
	"reflect"
	"testing"
	"time"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/teamusage"
)

// ended lets a task of a team run with two GPUs from one moment to another.
func ended(t tester, h *history, id, team string, from, to time.Time) {
	t.Helper()
	task := task(id, "h1", "h1-gpu2", "h1-gpu3")
	task.Tags = []spec.Tag{{Key: spec.TagTeam, Value: team}}
	h.launch(t, Launch{Tasks: []*spec.Task{task}})
	h.do(t, ReportTasks{HostID: "h1", Reports: []spec.TaskReport{{TaskID: id, Status: spec.Stopped, Times: spec.TaskTimes{Started: from, Stopped: to}}}})
}

func TestWhatForgottenTasksUsedIsRemembered(t *testing.T) {
	h := newHistory(t)
	hour := time.Unix(1000*3600, 0)
	ended(t, h, "a", "vision", hour.Add(-10*time.Minute), hour.Add(90*time.Minute))
	ended(t, h, "b", "speech", hour, hour.Add(time.Second))
	h.do(t, Reap{Before: hour.Add(2 * time.Hour)})
	ended(t, h, "c", "vision", hour, hour.Add(time.Second))
	ended(t, h, "d", "vision", hour, hour.Add(time.Hour))
	h.do(t, Reap{Before: hour.Add(time.Minute)})
	want := []*teamusage.Record{
		{Team: "speech", Hours: []teamusage.Hour{{Hour: 1000, GPUSeconds: 2}}},
		{Team: "vision", Hours: []teamusage.Hour{{Hour: 999, GPUSeconds: 1200}, {Hour: 1000, GPUSeconds: 7202}, {Hour: 1001, GPUSeconds: 3600}}},
	}
	if got := h.View().Usages(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %+v", got[0], got[1])
	}
	if h.View().Task("d") == nil {
		t.Error("a task was forgotten too early")
	}
	late := hour.Add(teamusage.Retention + 90*time.Minute)
	ended(t, h, "e", "vision", late, late.Add(time.Second))
	h.do(t, Reap{Before: late.Add(time.Minute)})
	usages := h.View().Usages() // of speech nothing counts any more
	if len(usages) != 1 || len(usages[0].Hours) != 2 || usages[0].Hours[0].Hour != 1001 || usages[0].Hours[1].GPUSeconds != 2 {
		t.Errorf("after a long time: %+v", usages)
	}
}
