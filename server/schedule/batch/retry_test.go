package batch

import (
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

func TestATaskIsDoneAgainWhenItFailsAndThatIsWorthIt(t *testing.T) {
	twice := tag("retries", "2")
	on := func(codes string) []spec.Tag { return []spec.Tag{twice, tag("retry-on", codes)} }
	fails := func(code int) func(*history) { return func(h *history) { h.exits("a", code, 10) } }
	cases := []struct {
		name string
		tags []spec.Tag
		end  func(*history)
		want bool
	}{
		{"it failed", []spec.Tag{twice}, fails(1), true},
		{"it succeeded, whatever its helper did", []spec.Tag{twice}, fails(0), false},
		{"nobody asked for it", nil, fails(1), false},
		{"the exit code is one of those", on("3 137"), fails(137), true},
		{"the exit code is another", on("3 137"), fails(1), false},
		{"it ran and its host was lost", on("3"), func(h *history) { h.runs("a"); h.gone("a") }, true},
		{"it did not come to start", []spec.Tag{twice}, func(h *history) { h.gone("a") }, true},
		{"it did not come to start, and only exit codes count", on("3"), func(h *history) { h.gone("a") }, false},
		{"a user stopped it", []spec.Tag{twice}, func(h *history) { h.stop(spec.StopUserInitiated, "a"); h.exits("a", 143, 60) }, false},
		{"the pool stopped it", []spec.Tag{twice}, func(h *history) { h.stop(spec.StopScheduler, "a"); h.exits("a", 143, 60) }, false},
		{"its GPU failed, whatever its exit code", on("3"), func(h *history) { h.gpuFails(spec.StopScheduler, "a") }, true},
		{"its GPU failed and is used again", on("3"), func(h *history) { h.gpuFails("", "a") }, true},
		{"its GPU failed, and nobody asked for it", nil, func(h *history) { h.gpuFails(spec.StopScheduler, "a") }, false},
		{"it gave way to another, retries or not", nil, func(h *history) { h.stop(spec.StopPreempted, "a"); h.exits("a", 143, 60) }, true},
		{"it gave way and saved its work", nil, func(h *history) { h.stop(spec.StopPreempted, "a"); h.exits("a", 0, 60) }, true},
		{"it is not over", []spec.Tag{twice}, func(h *history) { h.runs("a"); h.stop(spec.StopPreempted, "a") }, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory(t)
			h.launch(newTask("a", c.tags...))
			c.end(h)
			if again := h.again("a"); (len(again) == 1) != c.want {
				t.Errorf("%+v", again)
			}
			if more := h.again("a"); len(more) != 0 {
				t.Errorf("once more: %+v", more)
			}
		})
	}
}

func TestASuccessorIsTheTaskWithoutItsPlaceAndItsLife(t *testing.T) {
	h := newHistory(t)
	first, index := newTask("a", tag("retries", "2"), tag("team", "vision")), 4
	first.ArrayIndex, first.Ports, first.StartedBy = &index, []int{80}, "me"
	first.Queue = &spec.QueueSpec{Strategy: []spec.PlacementStrategy{{Type: "random"}}}
	first.Containers[0].GPUs = []string{"gpu3"}
	h.launch(first)
	h.exits("a", 1, 10)
	got := h.again("a")[0]
	if got.LastStatus != spec.Provisioning || got.DesiredStatus != spec.Running || got.HostID != "" || len(got.GPUs()) != 0 || got.Containers[0].ExitCode != nil || got.StopCode != "" {
		t.Errorf("it has something of the first one's life: %+v", got)
	}
	if got.RetryOf != "a" || got.Attempt != 1 || got.Failed != 1 || *got.ArrayIndex != 4 || got.Ports[0] != 80 || got.StartedBy != "me" || got.SchedulingOptions().Team != "vision" {
		t.Errorf("it is not the same work: %+v", got)
	}
	if got.CapacityProvider != spec.BuiltinCapacityProvider || len(got.Queue.Strategy) != 1 || !got.Queue.NotBefore.Equal(at(101)) {
		t.Errorf("it waits in %s for %+v", got.CapacityProvider, got.Queue)
	}
	if first.Queue.NotBefore != (time.Time{}) {
		t.Error("the first one was changed")
	}
}

func TestAttemptsEndAndPausesGrow(t *testing.T) {
	h := newHistory(t)
	h.launch(newTask("a", tag("retries", "3")))
	last, pauses := "a", []time.Duration{}
	for {
		h.exits(last, 1, 10)
		again := h.again(last)
		if len(again) == 0 {
			break
		}
		pauses = append(pauses, again[0].Queue.NotBefore.Sub(at(100)))
		last = again[0].ID
		h.do(raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: last, HostID: "h"}}}})
	}
	if len(pauses) != 3 || pauses[0] != time.Second || pauses[1] != 2*time.Second || pauses[2] != 4*time.Second {
		t.Errorf("it was tried again after %v", pauses)
	}
	if delays.After(100) != MaxBackoff {
		t.Errorf("pauses grow to %v", delays.After(100))
	}
}

func TestGivingWayIsNoFailure(t *testing.T) {
	h := newHistory(t)
	h.launch(newTask("a", tag("retries", "1")))
	h.stop(spec.StopPreempted, "a")
	h.exits("a", 137, 60)
	second := h.again("a")[0]
	if second.Failed != 0 || second.Attempt != 1 || !second.Queue.NotBefore.IsZero() {
		t.Fatalf("%+v", second)
	}
	h.do(raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: second.ID, HostID: "h"}}}})
	h.exits(second.ID, 1, 70)
	if third := h.again(second.ID); len(third) != 1 || third[0].RetryOf != "a" || third[0].Failed != 1 || third[0].Attempt != 2 {
		t.Errorf("%+v", third)
	}
}

// A service replaces its tasks itself: the same task would be there twice.
func TestATaskOfAServiceIsNotTriedAgain(t *testing.T) {
	for name, end := range map[string]func(*history){
		"failed":    func(h *history) { h.exits("a", 1, 10) },
		"preempted": func(h *history) { h.stop(spec.StopPreempted, "a"); h.exits("a", 143, 10) },
	} {
		h := newHistory(t)
		task := newTask("a", tag("retries", "3"))
		task.Service = &spec.ServiceMember{ID: "svc"}
		h.launch(task)
		end(h)
		if again := h.again("a"); len(again) > 0 {
			t.Errorf("%s: it is tried again", name)
		}
	}
}
