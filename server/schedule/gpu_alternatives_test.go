package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

var h200 = gpu.Device{Model: "NVIDIA H200", MemoryMiB: 143771, ComputeCapability: "9.0"}

// withAlternatives is the request with the tag that says which GPUs will do.
func (r Request) withAlternatives(text string) Request {
	r.Run.Tags = append(r.Run.Tags, spec.Tag{Key: spec.TagGPUAlternatives, Value: text})
	return r
}

// counts are the numbers of GPUs of each task: those that it has, and those that its overrides say it has.
func counts(d Decision) (all []string) {
	for _, task := range d.Tasks {
		overrides := task.Overrides.Get()
		all = append(all, fmt.Sprint(len(task.GPUs()), "=", overrides.Containers[0].ResourceRequirements[0].Value))
	}
	return all
}

// Each task gets the first of its alternatives that has room, on any host, and its overrides say which.
func TestATaskGetsTheFirstOfItsAlternativesThatHasRoom(t *testing.T) {
	hosts := []Host{host("a", 4, withModels(h100, h100, h100, h100)), host("b", 2, withModels(h200, h200))}
	for name, k := range map[string]struct {
		request Request
		places  []string
		counts  []string
	}{
		"the first":             {request(1, 4).withAlternatives("H200:1/H100:2"), []string{"b"}, []string{"1=1"}},
		"first ones, then not":  {request(4, 1).withAlternatives("H200:1/H100:2"), []string{"b", "b", "a", "a"}, []string{"1=1", "1=1", "2=2", "2=2"}},
		"no host has the first": {request(1, 1).withAlternatives("B200:1 / h100 80GB:4"), []string{"a"}, []string{"4=4"}},
		"a gang is alike":       {gangRequest(3, 1).withAlternatives("H200:1/H100:1"), []string{"a", "a", "a"}, []string{"1=1", "1=1", "1=1"}},
		"no room for any":       {request(1, 1).withAlternatives("H200:3/H100:5"), nil, nil},
	} {
		d := plan(hosts, k.request)
		if got := places(d); !slices.Equal(got, k.places) && len(got)+len(k.places) > 0 {
			t.Errorf("%s: on %v, want %v; %v %v", name, got, k.places, d.Failures, d.Err)
		}
		if got := counts(d); !slices.Equal(got, k.counts) {
			t.Errorf("%s: GPUs %v, want %v", name, got, k.counts)
		}
	}
}

// gangRequest is request for a gang.
func gangRequest(count int, gpus ...int) Request {
	r := request(count, gpus...)
	r.Run.Tags = []spec.Tag{{Key: spec.TagGang, Value: "true"}}
	return r
}

// Tasks of one run have one digest of their image, whichever alternative they got.
func TestTasksOfAllAlternativesAreOneRun(t *testing.T) {
	r := request(2, 1).withAlternatives("H200:1/H100:1")
	r.Definition.Containers[0].Image = "busybox:latest"
	d := plan([]Host{host("a", 1, withModels(h100)), host("b", 1, withModels(h200))}, r)
	if len(d.Tasks) != 2 || d.Tasks[0].Run != d.Tasks[1].Run {
		t.Errorf("%v: the runs differ", places(d))
	}
}

// A pending task is planned with its alternatives however it was tried before, and its placement carries the number of GPUs.
func TestAPendingTaskIsPlacedByAnAlternative(t *testing.T) {
	r := request(1, 1).withAlternatives("H200:1/H100:2")
	pending := NewPendingTasks(r)[0]
	if got := pending.Overrides.Get().Containers[0].ResourceRequirements[0].Value; got != "1" || pending.Queue.Constraints != nil {
		t.Errorf("it waits for %s GPUs, with the constraints %v", got, pending.Queue.Constraints)
	}
	f := NewHostSet()
	f.add(host("a", 2, withModels(h100, h100)))
	r.Waiting = []*spec.Task{pending}
	d := f.PlanFor(TemplateOf(r), []*spec.Task{pending}, 1)
	wantPlaces(t, d, "a")
	placement := PlacementOf(pending, d.Tasks[0])
	placed := pending.WithPlacement(placement)
	if demand := spec.DemandOf(spec.Effective(r.Definition, placed.Overrides.Get())); demand.TotalGPUs() != 2 || len(placed.GPUs()) != 2 || !placement.OverrideGPUs {
		t.Errorf("it has %d GPUs and asks for %d: %+v", len(placed.GPUs()), demand.TotalGPUs(), placement)
	}
}

// While it waits, a task counts for the most that it may get.
func TestAPendingTaskCountsForItsGreatestAlternative(t *testing.T) {
	r := request(1, 1).withAlternatives("H200:1/H100:2")
	r.Run.Key = "AKIA"
	if owner := NewPendingTasks(r)[0].Owner; owner.GPUs != 2 {
		t.Errorf("it counts for %d GPUs", owner.GPUs)
	}
}

// What the queue asks of the hosts is asked for every alternative.
func TestTheQueueKnowsAllAlternatives(t *testing.T) {
	f := NewHostSet()
	f.add(host("a", 2, withModels(h100, h100)))
	f.add(host("b", 2, withModels(h200, h200)))
	holder := plan([]Host{host("a", 2, withModels(h100, h100))}, request(1, 2)).Tasks[0]
	f.PutTask(holder)
	other := request(1, 2).with("attribute:pinion.gpu.model =~ .*H200.*")
	other.IDs = func() string { return strings.Repeat("f", 32) }
	f.Plan([]Request{other})
	r := request(1, 1).withAlternatives("H200:2/H100:2")

	refusals, willing := f.Refusals(r)
	if willing != 0 || len(refusals) != 2 || !strings.Contains(refusals[0].Detail, "H200:2: ") || !strings.Contains(refusals[0].Detail, "H100:2: ") {
		t.Errorf("refused by %v", refusals)
	}
	if f.AnyFeasible(r, []string{"a", "b"}) {
		t.Error("a host could run it")
	}
	soon := now.Add(time.Hour)
	ends := func(task *spec.Task) time.Time {
		if task.ID == holder.ID {
			return soon
		}
		return time.Time{}
	}
	reservation, ok := f.FindReservation(r, ends)
	if !ok || !reservation.At.Equal(soon) || reservation.Hosts[0].HostID != "a" {
		t.Errorf("reserved: %+v", reservation)
	}
	if blockers := f.Blockers(r, reservation, ends); len(blockers) != 1 || blockers[0].ID != holder.ID {
		t.Errorf("blocked by %v", blockers)
	}
	if _, valid := f.Hold(r, reservation, ends); !valid {
		t.Error("the reservation does not hold")
	}
	victims := f.Victims(r, func(task *spec.Task) (EvictionCost, bool) { return EvictionCost{}, task.ID == holder.ID })
	if len(victims) != 1 || victims[0].ID != holder.ID {
		t.Errorf("the victims are %v", victims)
	}
}

// A task is infeasible when no host could ever give it any of its alternatives.
func TestATaskIsInfeasibleWhenAllItsAlternativesAre(t *testing.T) {
	hosts := []*spec.Host{host("a", 2, withModels(h100, h100)).Host}
	for text, want := range map[string]bool{"H200:1/H100:2": false, "H200:1/H100:4": true} {
		lack, impossible := Infeasible(hosts, request(1, 1).withAlternatives(text))
		if impossible != want {
			t.Errorf("%s: %v, %+v", text, impossible, lack)
		}
		if impossible && (!strings.Contains(lack.Detail, "H200:1: ") || !strings.Contains(lack.Detail, "H100:4: ")) {
			t.Errorf("%s: %s", text, lack.Detail)
		}
	}
}

// Who does not wait is told what each host lacks for each alternative, once for each task without a place.
func TestFailuresTellOfAllAlternatives(t *testing.T) {
	hosts := []Host{host("a", 2, withModels(h100, h100)), host("b", 2, withModels(h200, h200))}
	for name, k := range map[string]struct {
		request  Request
		unplaced int
	}{
		"a task":     {request(1, 1).withAlternatives("H200:3/H100:4"), 1},
		"one of two": {request(2, 1).withAlternatives("H200:2/H100:4"), 1},
		"a gang":     {gangRequest(2, 1).withAlternatives("H200:3/H100:4"), 2},
	} {
		d := plan(hosts, k.request)
		if len(d.Failures) != k.unplaced*len(hosts) {
			t.Errorf("%s: %d failures: %v", name, len(d.Failures), d.Failures)
		}
		for _, failure := range d.Failures {
			if !strings.Contains(failure.Detail, "H200:") || !strings.Contains(failure.Detail, "H100:4: ") {
				t.Errorf("%s: host %s: %s", name, failure.HostID, failure.Detail)
			}
		}
	}
	if d := plan(hosts, request(2, 1).withAlternatives("H200:2/H100:2")); len(d.Failures) > 0 {
		t.Errorf("all have a place: %v", d.Failures)
	}
}

// A task of higher priority takes the place of those that lose the least, by whichever alternative.
func TestPreemptionChoosesTheCheapestAlternative(t *testing.T) {
	f := NewHostSet()
	hosts := []Host{host("a", 2, withModels(h100, h100)), host("b", 1, withModels(h200))}
	cost := map[string]EvictionCost{}
	for i, h := range hosts {
		f.add(h)
		r := request(1, len(h.Host.GPUs.Devices))
		r.IDs = func() string { return strings.Repeat(fmt.Sprint(i+1), 32) }
		holder := plan([]Host{h}, r).Tasks[0]
		cost[holder.ID] = EvictionCost{Priority: 2 - i}
		f.PutTask(holder)
	}
	victims := func(text string) (all []string) {
		price := func(task *spec.Task) (EvictionCost, bool) { return cost[task.ID], true }
		for _, task := range f.Victims(request(1, 1).withAlternatives(text), price) {
			all = append(all, task.HostID)
		}
		return all
	}
	for _, text := range []string{"H100:2/H200:1", "H200:1/H100:2"} {
		if got := victims(text); !slices.Equal(got, []string{"b"}) {
			t.Errorf("%s: it takes the place of those on %v", text, got)
		}
	}
	if got := victims("H100:1/H200:4"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("only one alternative fits: %v", got)
	}
}
