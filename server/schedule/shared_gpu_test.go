package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// sharesGPUs makes a host one whose GPUs have 1000 MiB each and are shared.
func sharesGPUs(h *spec.Host) {
	h.GPUs.Simulated, h.GPUs.VRAMEnforcement = true, gpu.EnforcedByMPS
	for i := range h.GPUs.Devices {
		h.GPUs.Devices[i].MemoryMiB = 1000
	}
}

// shareRequest asks for count tasks with a container for each share.
func shareRequest(count int, mib ...int64) Request {
	r := request(count, make([]int, len(mib))...)
	for i := range mib {
		r.Definition.Containers[i].CPU, r.Definition.Containers[i].Memory = 10, 10
		r.Definition.Containers[i].ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", SharingStrategy: &spec.SharingStrategy{NvidiaMPS: &spec.NvidiaMPS{Memory: mib[i]}}}}
	}
	return r
}

// holding is the host with tasks on it: each holds a share of a GPU, or all of it where the share is 0.
func holding(h Host, shares ...map[int]int64) Host {
	var tasks []*spec.Task
	for i, each := range shares {
		for device, mib := range each {
			c := spec.Container{GPUs: []string{h.Host.GPUs.Devices[device].UUID}}
			if mib > 0 {
				c.Share = &spec.GPUShare{MemoryMiB: mib, TotalMiB: 1000}
			}
			tasks = append(tasks, &spec.Task{ID: fmt.Sprint(h.Host.ID, "-", i, "-", device), HostID: h.Host.ID, LastStatus: spec.Running, DesiredStatus: spec.Running, Containers: []spec.Container{c}})
		}
	}
	h.Free, h.Tasks = spec.NewFree(h.Host, tasks), func() []*spec.Task { return tasks }
	return h
}

// gpusOf lists the GPUs of each task, "a-gpu0".
func gpusOf(d Decision) (all []string) {
	for _, task := range d.Tasks {
		all = append(all, strings.Join(task.GPUs(), "+"))
	}
	return all
}

func TestSharesFillSharedGPUsFirst(t *testing.T) {
	for name, c := range map[string]struct {
		hosts []Host
		asks  Request
		want  string
	}{
		"an idle pool opens one GPU":      {[]Host{host("a", 2, sharesGPUs), host("b", 2, sharesGPUs)}, shareRequest(3, 300), "[a-gpu0 a-gpu0 a-gpu0]"},
		"the next GPU when one is full":   {[]Host{host("a", 2, sharesGPUs)}, shareRequest(3, 600), "[a-gpu0 a-gpu1]"},
		"the fullest on which it fits":    {[]Host{holding(host("a", 1, sharesGPUs), map[int]int64{0: 200}), holding(host("b", 1, sharesGPUs), map[int]int64{0: 700})}, shareRequest(2, 300), "[b-gpu0 a-gpu0]"},
		"a shared GPU of a host that is":  {[]Host{host("a", 8, sharesGPUs), holding(host("b", 8, sharesGPUs), map[int]int64{7: 100})}, shareRequest(1, 300), "[b-gpu7]"},
		"not beside a task with the GPU":  {[]Host{holding(host("a", 2, sharesGPUs), map[int]int64{0: 0})}, shareRequest(1, 300), "[a-gpu1]"},
		"the busier host for another GPU": {[]Host{host("a", 4, sharesGPUs), holding(host("b", 4, sharesGPUs), map[int]int64{0: 0, 1: 0})}, shareRequest(1, 300), "[b-gpu2]"},
		"one GPU for all its containers":  {[]Host{holding(host("a", 2, sharesGPUs), map[int]int64{0: 500})}, shareRequest(1, 300, 300), "[a-gpu1]"},
	} {
		if got := gpusOf(plan(c.hosts, c.asks)); fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestAWholeGPUIsNeverOneThatIsShared(t *testing.T) {
	got := plan([]Host{holding(host("a", 3, sharesGPUs), map[int]int64{1: 1})}, request(3, 1))
	if all := gpusOf(got); !slices.Equal(all, []string{"a-gpu0", "a-gpu2"}) || reasons(got)[0] != "a RESOURCE:GPU" {
		t.Errorf("%v, %v", all, got.Failures)
	}
}

func TestSharesAreRefusedWithAReason(t *testing.T) {
	for name, c := range map[string]struct {
		host   Host
		asks   Request
		reason string
	}{
		"a host that enforces nothing":   {host("a", 2), shareRequest(1, 300), spec.ReasonAttribute},
		"more than any GPU has":          {host("a", 2, sharesGPUs), shareRequest(1, 1001), spec.ReasonGPU},
		"more than a GPU has, in two":    {host("a", 2, sharesGPUs), shareRequest(1, 600, 600), spec.ReasonGPU},
		"more than what any GPU has now": {holding(host("a", 2, sharesGPUs), map[int]int64{0: 600, 1: 0}), shareRequest(1, 500), spec.ReasonGPU},
	} {
		if got := plan([]Host{c.host}, c.asks); len(got.Tasks) != 0 || len(got.Failures) != 1 || got.Failures[0].Reason != c.reason {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, impossible := Infeasible([]*spec.Host{host("a", 2, sharesGPUs).Host}, shareRequest(1, 1001)); !impossible {
		t.Error("more memory than any GPU has waits for a place")
	}
	if _, impossible := Infeasible([]*spec.Host{host("a", 2, sharesGPUs).Host}, shareRequest(1, 1000)); impossible {
		t.Error("all memory of a GPU has no place")
	}
}

func TestAReservationHoldsShares(t *testing.T) {
	full := holding(host("a", 1, sharesGPUs), map[int]int64{0: 800})
	hosts := NewHostSet()
	hosts.add(full)
	ends := func(*spec.Task) time.Time { return now.Add(time.Hour) }
	reservation, ok := hosts.FindReservation(shareRequest(1, 900), ends)
	if !ok || !reservation.At.Equal(now.Add(time.Hour)) {
		t.Fatalf("%+v, %v", reservation, ok)
	}
	if victims := hosts.Victims(shareRequest(1, 900), func(*spec.Task) (EvictionCost, bool) { return EvictionCost{}, true }); len(victims) != 1 {
		t.Errorf("%d victims", len(victims))
	}
	idle := NewHostSet()
	idle.add(host("a", 1, sharesGPUs))
	held, valid := idle.Hold(shareRequest(2, 400), Reservation{Hosts: []Allotment{{"a", 2}}}, ends)
	if !valid {
		t.Fatal("nothing is held")
	}
	for mib, tasks := range map[int64]int{200: 1, 201: 0} {
		if got := idle.Plan([]Request{shareRequest(1, mib)})[0]; len(got.Tasks) != tasks {
			t.Errorf("%d MiB beside 800 that are held: %d tasks", mib, len(got.Tasks))
		} else if tasks > 0 {
			idle.DropTask(got.Tasks[0])
		}
	}
	for _, task := range held {
		idle.DropTask(task)
	}
	if got := idle.Plan([]Request{request(1, 1)})[0]; len(got.Tasks) != 1 {
		t.Errorf("the GPU is not idle after the reservation: %+v", got.Failures)
	}
}

// TestAPlaceInTheQueueKeepsTheShares follows a placement from the plan to the task that waited.
func TestAPlaceInTheQueueKeepsTheShares(t *testing.T) {
	r := shareRequest(1, 300, 200)
	waiting := NewPendingTasks(r)
	r.Waiting = waiting
	planned := plan([]Host{host("a", 1, sharesGPUs)}, r).Tasks[0]
	placed := waiting[0].WithPlacement(PlacementOf(waiting[0], planned))
	for i, mib := range []int64{300, 200} {
		if c := placed.Containers[i]; c.Share == nil || *c.Share != (spec.GPUShare{MemoryMiB: mib, TotalMiB: 1000}) || !slices.Equal(c.GPUs, []string{"a-gpu0"}) {
			t.Errorf("container %d has %+v of %v", i, c.Share, c.GPUs)
		}
	}
	if waiting[0].Containers[0].Share != nil {
		t.Error("a task that waits holds a share")
	}
}

// TestPlannedSharesAreAlwaysAccepted plans whole GPUs and shares on a state again and again: apply refuses none of them, and a host set
// that follows the tasks knows what a new one does.
func TestPlannedSharesAreAlwaysAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := drawState(t)
		apply(t, state, raftfsm.PutHost{Host: *host("s0", 3, sharesGPUs).Host})
		apply(t, state, raftfsm.PutHost{Host: *host("s1", 3, sharesGPUs).Host})
		followed := NewHostSet()
		for _, h := range hostsOf(state.View()) {
			followed.add(h)
		}
		for pass := range 4 {
			var requests []Request
			next := ids()
			for range rapid.IntRange(1, 4).Draw(t, "requests") {
				r := shareRequest(rapid.IntRange(1, 4).Draw(t, "count"), rapid.SliceOfN(rapid.Int64Range(1, 600), 1, 2).Draw(t, "mib")...)
				if rapid.Bool().Draw(t, "whole") {
					r = request(1, rapid.IntRange(0, 2).Draw(t, "gpus"))
				}
				r.IDs = func() string { return fmt.Sprint(pass, "-", next()) }
				requests = append(requests, r)
			}
			decisions := followed.Plan(requests)
			record(t, state, decisions)
			for _, task := range state.View().Tasks(spec.DefaultCluster) {
				if rapid.IntRange(0, 2).Draw(t, "ends") == 0 && task.LastStatus != spec.Stopped {
					apply(t, state, raftfsm.ReportTasks{HostID: task.HostID, Reports: []spec.TaskReport{{TaskID: task.ID, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: now}}}})
					followed.PutTask(state.View().Task(task.ID))
				}
			}
			for _, h := range followed.hosts {
				if want := spec.NewFree(h.Host, state.View().TasksOn(h.Host.ID)); !slices.Equal(h.Free.Allocations(), want.Allocations()) {
					t.Fatalf("host %s: %+v, want %+v", h.Host.ID, h.Free.Allocations(), want.Allocations())
				}
			}
		}
	})
}
