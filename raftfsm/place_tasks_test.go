package raftfsm

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// waiting is a task of the queue that asks for so many GPUs.
func waiting(id string, gpus int) *spec.Task {
	t := task(id, "")
	t.LastStatus, t.CapacityProvider, t.Queue = spec.Provisioning, spec.BuiltinCapacityProvider, &spec.QueueSpec{}
	t.Containers[0].LastStatus = spec.Provisioning
	return t
}

func queue(v *View) (ids []string) {
	for t := range v.QueuedTasks(spec.DefaultCluster) {
		ids = append(ids, t.ID)
	}
	return ids
}

func TestATaskWaitsUntilItIsPlaced(t *testing.T) {
	h := newHistory(t)
	h.launch(t, Launch{Tasks: []*spec.Task{waiting("a", 1), waiting("b", 1)}})
	if got := queue(h.View()); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("%v wait", got)
	}
	answers := h.do(t, PlaceTasks{[][]spec.Placement{{{TaskID: "a", HostID: "h1", GPUs: [][]string{{"h1-gpu2"}}, Ports: []int{29500}}}}}).([]string)
	placed := h.View().Task("a")
	if answers[0] != "" || placed.LastStatus != spec.Pending || placed.HostID != "h1" || placed.Version != 2 || !slices.Equal(placed.Ports, []int{29500}) {
		t.Errorf("%q: %+v", answers[0], placed)
	}
	if got := queue(h.View()); !slices.Equal(got, []string{"b"}) {
		t.Errorf("%v wait", got)
	}
	if free := h.View().Free("h1"); slices.Contains(free.GPUs, "h1-gpu2") || !free.Ports[29500] {
		t.Errorf("free: %+v", free)
	}
	assigned, _ := h.View().Assignments("h1")
	if len(assigned) != 1 || assigned[0].Task.ID != "a" {
		t.Errorf("the host gets %v", assigned)
	}
}

func TestAGroupIsPlacedWholeOrNotAtAll(t *testing.T) {
	place := func(task, gpu string) spec.Placement {
		return spec.Placement{TaskID: task, HostID: "h1", GPUs: [][]string{{gpu}}}
	}
	for name, c := range map[string]struct {
		group []spec.Placement
		why   string
	}{
		"a GPU is taken":      {[]spec.Placement{place("a", "h1-gpu1"), place("b", "h1-gpu0")}, "h1-gpu0 is not free"},
		"both want the same":  {[]spec.Placement{place("a", "h1-gpu1"), place("b", "h1-gpu1")}, "h1-gpu1 is not free"},
		"one was not waiting": {[]spec.Placement{place("a", "h1-gpu1"), place("held", "h1-gpu2")}, "does not wait any more"},
		"one is unknown":      {[]spec.Placement{place("a", "h1-gpu1"), place("c", "h1-gpu2")}, "does not wait any more"},
		"no such host":        {[]spec.Placement{place("a", "h1-gpu1"), {TaskID: "b", HostID: "h9"}}, "not in cluster"},
		"too many containers": {[]spec.Placement{{TaskID: "a", HostID: "h1", GPUs: [][]string{nil, nil}}}, "other containers"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.running(t, task("held", "h1", "h1-gpu0"))
			h.launch(t, Launch{Tasks: []*spec.Task{waiting("a", 1), waiting("b", 1)}})
			answers := h.do(t, PlaceTasks{[][]spec.Placement{c.group, {place("b", "h1-gpu3")}}}).([]string)
			if !strings.Contains(answers[0], c.why) || answers[1] != "" {
				t.Errorf("%q", answers)
			}
			if got := queue(h.View()); !slices.Equal(got, []string{"a"}) {
				t.Errorf("%v wait", got)
			}
		})
	}
}

func TestATaskOfTheQueueThatIsStoppedIsStoppedAtOnce(t *testing.T) {
	h := newHistory(t)
	h.launch(t, Launch{Tasks: []*spec.Task{waiting("a", 1)}})
	h.do(t, StopTask{ID: "a", Code: spec.StopUserInitiated, At: at(1)})
	if got := h.View().Task("a"); got.LastStatus != spec.Stopped || len(queue(h.View())) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAnAttemptIsRecordedOnce(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("first", "h1"))
	again := func(id string, attempt int) *spec.Task {
		t := waiting(id, 0)
		t.RetryOf, t.Attempt = "first", attempt
		return t
	}
	for _, step := range []struct {
		task *spec.Task
		want bool
	}{{again("b", 1), true}, {again("c", 1), false}, {again("d", 3), false}, {again("e", 2), true}, {again("b", 3), false}} {
		recorded := h.do(t, RetryTasks{[]*spec.Task{step.task}}).([]string)
		if got := len(recorded) == 1; got != step.want {
			t.Errorf("attempt %d as %s: %v", step.task.Attempt, step.task.ID, got)
		}
	}
	if got := ids(h.View().Attempts("first")); !slices.Equal(got, []string{"b", "e"}) {
		t.Errorf("attempts %v", got)
	}
}

func TestAFirstAttemptIsKnownWhileItsWorkGoesOn(t *testing.T) {
	h := newHistory(t)
	h.launch(t, Launch{Token: "once", Tasks: []*spec.Task{task("first", "h1")}, At: at(0)})
	ended := func(id string, minute int) {
		h.report(t, "h1", spec.TaskReport{TaskID: id, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(minute)}})
	}
	ended("first", 1)
	again := waiting("second", 0)
	again.RetryOf, again.Attempt = "first", 1
	h.do(t, RetryTasks{[]*spec.Task{again}})
	h.do(t, Reap{Before: at(100)})
	if h.View().Task("first") == nil {
		t.Fatal("it is forgotten, and its work waits")
	}
	h.do(t, PlaceTasks{[][]spec.Placement{{{TaskID: "second", HostID: "h1"}}}})
	h.do(t, Reap{Before: at(200)})
	if known, err := h.View().ClientTokenResult(spec.DefaultCluster, "once", ""); err != nil || known == nil {
		t.Fatalf("its client token is forgotten, and its work runs: %v", err)
	}
	ended("second", 201)
	h.do(t, Reap{Before: at(300)})
	if v := h.View(); v.Task("first") != nil || v.Task("second") != nil {
		t.Error("it is kept for ever")
	}
}

func TestAGangStaysOne(t *testing.T) {
	h := newHistory(t)
	rank := waiting("a", 1)
	rank.Tags, rank.Gang = []spec.Tag{{Key: spec.TagGang, Value: "true"}, {Key: "owner", Value: "ada"}}, &spec.GangMember{ID: "g", Size: 1}
	h.launch(t, Launch{Tasks: []*spec.Task{rank}})
	if _, err := h.try(t, SetTags{Kind: spec.ResourceTask, ID: "a", Remove: []string{spec.TagGang}}); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("the tag is gone: %v", err)
	}
	h.do(t, SetTags{Kind: spec.ResourceTask, ID: "a", Remove: []string{"owner"}})
}
