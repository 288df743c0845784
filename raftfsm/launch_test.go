package raftfsm

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

func TestALaunchRecordsTasksAndTakesTheirGPUs(t *testing.T) {
	h := newHistory(t)
	result := h.launch(t, Launch{Tasks: []*spec.Task{task("t1", "h1", "h1-gpu0", "h1-gpu1"), task("t2", "h1", "h1-gpu2")}})
	if got := ids(result.Result.Tasks); !slices.Equal(got, []string{"t1", "t2"}) {
		t.Fatalf("launched %v: %s %v", got, result.Conflict, result.Err)
	}
	free := h.View().Free("h1")
	if !slices.Equal(free.GPUs, []string{"h1-gpu3"}) || free.CPU != 3896 || free.MemoryMiB != 7992 {
		t.Errorf("free: %+v", free)
	}
}

func TestARunThatLosesItsPlaceLeavesNothingBehind(t *testing.T) {
	withPort := func(id string, port int) *spec.Task {
		placed := task(id, "h1")
		placed.Ports = []int{port}
		return placed
	}
	heavy := task("new", "h1")
	heavy.CPU = 5000
	inLab := task("new", "h1")
	inLab.Cluster = "lab"
	cases := map[string]struct {
		tasks []*spec.Task
		why   string
	}{
		"a GPU that another task holds":       {[]*spec.Task{task("new", "h1", "h1-gpu0")}, "h1-gpu0 is not free"},
		"a GPU that the host does not have":   {[]*spec.Task{task("new", "h1", "h9-gpu0")}, "h9-gpu0 is not free"},
		"a GPU twice in one task":             {[]*spec.Task{task("new", "h1", "h1-gpu1", "h1-gpu1")}, "h1-gpu1 is not free"},
		"a GPU twice in one run":              {[]*spec.Task{task("a", "h1", "h1-gpu1"), task("b", "h1", "h1-gpu1")}, "h1-gpu1 is not free"},
		"more GPUs than are free":             {[]*spec.Task{task("new", "h1", "1", "2", "3", "4")}, "needs 4 GPUs, 3 free"},
		"more CPU than is free":               {[]*spec.Task{heavy}, "needs 5000 CPU units, 3996 free"},
		"a port of the machine":               {[]*spec.Task{withPort("new", 22)}, "host port 22 is taken"},
		"a port twice in one run":             {[]*spec.Task{withPort("a", 80), withPort("b", 80)}, "host port 80 is taken"},
		"a host that is not there":            {[]*spec.Task{task("new", "h9")}, `host "h9" is not in cluster default`},
		"a host of another cluster":           {[]*spec.Task{task("new", "h2")}, `host "h2" is not in cluster default`},
		"no host":                             {[]*spec.Task{task("new", "")}, `host "" is not in cluster default`},
		"a task of another cluster":           {[]*spec.Task{inLab}, "is not in cluster default"},
		"an id that is used":                  {[]*spec.Task{task("held", "h1")}, "task id held is used already"},
		"one of two only: the other goes too": {[]*spec.Task{task("a", "h1", "h1-gpu1"), task("b", "h1", "h1-gpu0")}, "h1-gpu0 is not free"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.do(t, CreateCluster{spec.Cluster{Name: "lab"}})
			elsewhere := hostWith("h2", 0)
			elsewhere.Cluster = "lab"
			h.do(t, PutHost{elsewhere})
			h.running(t, task("held", "h1", "h1-gpu0"))
			before := h.snapshot(t)
			result := h.launch(t, Launch{Token: "again", Tasks: c.tasks})
			if result.Err != nil || len(result.Refused) != len(c.tasks) || !strings.Contains(result.Conflict, c.why) {
				t.Errorf("refused %v: %q, %v", ids(result.Refused), result.Conflict, result.Err)
			}
			if !bytes.Equal(before, h.snapshot(t)) {
				t.Error("the state changed")
			}
		})
	}
}

func TestADrainingHostGetsNothingNew(t *testing.T) {
	h := newHistory(t)
	tx := h.begin()
	draining := *tx.Host("h1")
	draining.Status = spec.HostDraining
	tx.put(tableHosts, &draining)
	tx.commit()
	result := h.launch(t, Launch{Tasks: []*spec.Task{task("new", "h1")}})
	if result.Conflict != "host h1 is DRAINING" {
		t.Errorf("%+v", result)
	}
}

func TestRunsOfOneEntrySeeEachOther(t *testing.T) {
	h := newHistory(t)
	results := h.do(t, LaunchTasks{[]Launch{
		{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task("t1", "h1", "h1-gpu0")}},
		{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task("t2", "h1", "h1-gpu0")}},
		{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task("t3", "h1", "h1-gpu1")}},
	}}).([]LaunchResult)
	if len(results[0].Result.Tasks) != 1 || len(results[1].Refused) != 1 || len(results[2].Result.Tasks) != 1 {
		t.Errorf("%+v", results)
	}
}

func TestARunThatCanNeverSucceedIsAnError(t *testing.T) {
	h := newHistory(t)
	h.do(t, DeregisterDefinition{Name: "gpu:1", At: at(1)})
	if result := h.launch(t, Launch{Tasks: []*spec.Task{task("t1", "h1")}}); !errors.Is(result.Err, spec.ErrInactive) {
		t.Errorf("INACTIVE definition: %+v", result)
	}
	unknown := task("t1", "h1")
	unknown.Definition = "none:1"
	if result := h.launch(t, Launch{Tasks: []*spec.Task{unknown}}); !errors.Is(result.Err, spec.ErrNotFound) {
		t.Errorf("unknown definition: %+v", result)
	}
	if result := h.launch(t, Launch{Cluster: "none", Tasks: []*spec.Task{task("t1", "h1")}}); !errors.Is(result.Err, spec.ErrNotFound) {
		t.Errorf("unknown cluster: %+v", result)
	}
}

func TestATokenIsAnsweredWithTheFirstResult(t *testing.T) {
	h := newHistory(t)
	failures := []spec.Failure{{HostID: "h1", Reason: spec.ReasonGPU, Detail: "needs 1 GPU, 0 free"}}
	h.launch(t, Launch{Token: "once", TokenHash: "a", Tasks: []*spec.Task{task("t1", "h1")}, Failures: failures, At: at(1)})
	retry := h.launch(t, Launch{Token: "once", TokenHash: "a", Tasks: []*spec.Task{task("t2", "h1")}, At: at(2)})
	if !slices.Equal(ids(retry.Result.Tasks), []string{"t1"}) || !slices.Equal(retry.Result.Failures, failures) {
		t.Errorf("the retry got %v and %v", ids(retry.Result.Tasks), retry.Result.Failures)
	}
	if len(h.View().Tasks("")) != 1 {
		t.Errorf("tasks: %v", ids(h.View().Tasks("")))
	}
	var conflict *spec.ClientTokenConflict
	other := h.launch(t, Launch{Token: "once", TokenHash: "b", Tasks: []*spec.Task{task("t3", "h1")}})
	if !errors.As(other.Err, &conflict) || !slices.Equal(conflict.TaskIDs, []string{"t1"}) || !errors.Is(other.Err, spec.ErrClientTokenConflict) {
		t.Errorf("other parameters: %v", other.Err)
	}
}

func TestATokenBelongsToItsCluster(t *testing.T) {
	h := newHistory(t)
	h.launch(t, Launch{Token: "once", TokenHash: "a", Tasks: []*spec.Task{task("t1", "h1")}})
	if found, err := h.View().ClientTokenResult("lab", "once", "b"); found != nil || err != nil {
		t.Errorf("in another cluster: %v, %v", found, err)
	}
	if found, err := h.View().ClientTokenResult(spec.DefaultCluster, "", ""); found != nil || err != nil {
		t.Errorf("no token: %v, %v", found, err)
	}
}

func TestARunThatStartedNothingIsNotRemembered(t *testing.T) {
	h := newHistory(t)
	first := h.launch(t, Launch{Token: "once", TokenHash: "a", Failures: []spec.Failure{{Reason: spec.ReasonGPU}}, At: at(1)})
	if len(first.Result.Failures) != 1 {
		t.Errorf("%+v", first)
	}
	if again := h.launch(t, Launch{Token: "once", TokenHash: "a", Tasks: []*spec.Task{task("t1", "h1")}}); len(again.Result.Tasks) != 1 {
		t.Errorf("%+v", again)
	}
}

func TestATokenIsForgottenWithItsTasksOrByAge(t *testing.T) {
	h := newHistory(t)
	h.launch(t, Launch{Token: "ended", Tasks: []*spec.Task{task("t1", "h1")}, At: at(0)})
	h.launch(t, Launch{Token: "old", Tasks: []*spec.Task{task("t2", "h1")}, At: at(1)})
	h.launch(t, Launch{Token: "young", Tasks: []*spec.Task{task("t3", "h1")}, At: at(5)})
	h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(2)}})
	known := func(token string) bool {
		found, err := h.View().ClientTokenResult(spec.DefaultCluster, token, "")
		return err == nil && found != nil
	}
	h.do(t, Reap{Before: at(3), TokensBefore: at(0)})
	if known("ended") || !known("old") || !known("young") {
		t.Errorf("after the task is gone: %v %v %v", known("ended"), known("old"), known("young"))
	}
	h.do(t, Reap{Before: at(3), TokensBefore: at(5)})
	if known("old") || !known("young") {
		t.Errorf("by age: %v %v", known("old"), known("young"))
	}
}
