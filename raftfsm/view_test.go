package raftfsm

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
)

func TestAViewIsOneMoment(t *testing.T) {
	h := newHistory(t)
	before := h.View()
	h.running(t, task("t1", "h1", "h1-gpu0"))
	if before.Task("t1") != nil || len(before.Free("h1").GPUs) != 4 {
		t.Error("a view changed")
	}
	if now := h.View(); now.Task("t1") == nil || now.Index() <= before.Index() {
		t.Error("the next view does not show the change")
	}
}

func TestUnknownNamesAreNil(t *testing.T) {
	v := NewState().View()
	if v.Pool() != nil || v.Cluster("x") != nil || v.Host("x") != nil || v.Definition("x") != nil || v.Task("x") != nil ||
		v.AccessKey("x") != nil || v.CA() != nil || jointoken.Find(v, "x") != nil || v.Admission("x") != nil || v.Removed("x") || v.Index() != 0 || len(v.Free("x").GPUs) != 0 || len(v.Tasks("")) != 0 {
		t.Error("something is in an empty state")
	}
}

func TestListsAreOrderedAndKnowTheirCluster(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{spec.Cluster{Name: "lab"}})
	for _, id := range []string{"h3", "h2"} {
		host := hostWith(id, 0)
		host.Cluster = "lab"
		h.do(t, PutHost{host})
	}
	for _, id := range []string{"t3", "t1", "t2"} {
		h.running(t, task(id, "h1"))
	}
	inLab := task("t0", "h2")
	inLab.Cluster = "lab"
	h.launch(t, Launch{Cluster: "lab", Tasks: []*spec.Task{inLab}})
	v := h.View()
	hosts := func(cluster string) (found []string) {
		for _, host := range v.Hosts(cluster) {
			found = append(found, host.ID)
		}
		return found
	}
	lists := []struct {
		name      string
		got, want []string
	}{
		{"tasks of default", ids(v.Tasks(spec.DefaultCluster)), []string{"t1", "t2", "t3"}},
		{"tasks of lab", ids(v.Tasks("lab")), []string{"t0"}},
		{"all tasks", ids(v.Tasks("")), []string{"t0", "t1", "t2", "t3"}},
		{"tasks on h1", ids(v.TasksOn("h1")), []string{"t1", "t2", "t3"}},
		{"hosts of lab", hosts("lab"), []string{"h2", "h3"}},
		{"all hosts", hosts(""), []string{"h1", "h2", "h3"}},
	}
	for _, l := range lists {
		if !slices.Equal(l.got, l.want) {
			t.Errorf("%s: %v", l.name, l.got)
		}
	}
}

func TestAssignmentsAreEffectiveAndWithoutWhatIsOver(t *testing.T) {
	h := newHistory(t)
	changed := task("t1", "h1")
	changed.Overrides = spec.Box(spec.TaskOverride{Containers: []spec.ContainerOverride{{Name: "main", Command: []string{"ls"}}}})
	h.running(t, changed)
	h.running(t, task("t2", "h1"))
	h.report(t, "h1", spec.TaskReport{TaskID: "t2", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(1)}})
	assigned, _ := h.View().Assignments("h1")
	if len(assigned) != 1 || assigned[0].Task.ID != "t1" || assigned[0].Definition.Containers[0].Command[0] != "ls" {
		t.Errorf("%+v", assigned)
	}
}

func TestTheWatchFiresForItsOwnHostOnly(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutHost{hostWith("h2", 1)})
	h.running(t, task("t1", "h1"))
	h.running(t, task("t2", "h2"))
	fired := func(watch <-chan struct{}) bool {
		select {
		case <-watch:
			return true
		default:
			return false
		}
	}
	steps := []struct {
		name string
		do   func()
		want bool
	}{
		{"a task of another host", func() { h.running(t, task("t3", "h2")) }, false},
		{"a report of another host", func() { h.report(t, "h2", spec.TaskReport{TaskID: "t2", Status: spec.Stopping}) }, false},
		{"a host that describes itself", func() { h.do(t, PutHost{hostWith("h1", 2)}) }, false},
		{"a new task", func() { h.running(t, task("t4", "h1")) }, true},
		{"a wish to stop", func() { h.do(t, StopTask{ID: "t4", At: at(1)}) }, true},
		{"the end of a task", func() { h.report(t, "h1", spec.TaskReport{TaskID: "t4", Status: spec.Stopped}) }, true},
		{"forgetting it", func() { h.do(t, Reap{Before: at(60)}) }, false},
		{"a restored snapshot", func() { _ = h.Restore(newReader(h.snapshot(t))) }, true},
	}
	for _, step := range steps {
		_, watch := h.View().Assignments("h1")
		if step.do(); fired(watch) != step.want {
			t.Errorf("%s: fired is %v", step.name, !step.want)
		}
	}
}

func TestTheFirstTaskOfAHostFiresToo(t *testing.T) {
	h := newHistory(t)
	_, watch := h.View().Assignments("h1")
	h.running(t, task("t1", "h1"))
	select {
	case <-watch:
	default:
		t.Error("whoever waits for the first task was not woken")
	}
}

func TestViewsAreReadWhileCommandsAreApplied(t *testing.T) {
	h := newHistory(t)
	view := h.View()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 50 {
				view.Definition("gpu")
				h.View().Assignments("h1")
				h.View().Tasks("")
			}
		})
	}
	for i := range 30 {
		h.running(t, task(fmt.Sprint("t", i), "h1"))
	}
	readers.Wait()
}
