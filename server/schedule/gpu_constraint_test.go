package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/gpu"
	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

var (
	h100 = gpu.Device{Model: "NVIDIA H100 80GB HBM3", MemoryMiB: 81559, ComputeCapability: "9.0"}
	l40s = gpu.Device{Model: "NVIDIA L40S", MemoryMiB: 46068, ComputeCapability: "8.9"}
	t4   = gpu.Device{Model: "Tesla T4", MemoryMiB: 15360, ComputeCapability: "7.5"}

	mig1g = gpu.Device{Model: "NVIDIA H100 80GB HBM3", MemoryMiB: 10194, ComputeCapability: "9.0", MIGDevice: &gpu.MIGDevice{Parent: "card", ParentMemoryMiB: 81559, Profile: "1g.10gb"}}
	mig3g = gpu.Device{Model: "NVIDIA H100 80GB HBM3", MemoryMiB: 40779, ComputeCapability: "9.0", MIGDevice: &gpu.MIGDevice{Parent: "card", ParentMemoryMiB: 81559, Profile: "3g.40gb"}}
)

// withModels makes GPU i of a host one of the i-th model.
func withModels(models ...gpu.Device) func(*spec.Host) {
	return func(h *spec.Host) {
		for i := range models {
			d := &h.GPUs.Devices[i]
			d.Model, d.MemoryMiB, d.ComputeCapability, d.MIGDevice = models[i].Model, models[i].MemoryMiB, models[i].ComputeCapability, models[i].MIGDevice
		}
	}
}

// mixed is a host with two GPUs of each of two models.
func mixed(id string) Host { return host(id, 4, withModels(t4, h100, t4, h100)) }

func (r Request) with(expressions ...string) Request {
	for _, e := range expressions {
		r.Run.Constraints = append(r.Run.Constraints, spec.PlacementConstraint{Type: spec.MemberOf, Expression: e})
	}
	return r
}

const (
	isH100 = "attribute:pinion.gpu.model =~ .*H100.*"
	isT4   = "attribute:pinion.gpu.model =~ .*T4.*"
	is1g   = "attribute:pinion.gpu.mig-profile == 1g.10gb"
	isMIG  = "attribute:pinion.gpu.mig-profile exists"
)

func givenGPUs(d Decision) (all []string) {
	for _, task := range d.Tasks {
		all = append(all, task.GPUs()...)
	}
	return all
}

// A constraint on GPUs selects among those of a host; a task gets no other ones.
func TestATaskGetsTheGPUsThatItsConstraintsSelect(t *testing.T) {
	for name, k := range map[string]struct {
		request Request
		gpus    []string
		refusal string
	}{
		"by model":              {request(1, 1).with(isH100), []string{"a-gpu1"}, ""},
		"both of a model":       {request(1, 2).with(isT4), []string{"a-gpu0", "a-gpu2"}, ""},
		"more than there are":   {request(1, 3).with(isH100), nil, "needs 3 GPUs, 2 free of the 2 that meet the constraints"},
		"task by task":          {request(3, 1).with(isH100), []string{"a-gpu1", "a-gpu3"}, "needs 1 GPU, 0 free of the 2 that meet the constraints"},
		"by memory":             {request(1, 1).with("attribute:pinion.gpu.memory-mib >= 76294"), []string{"a-gpu1"}, ""},
		"by compute capability": {request(1, 2).with("attribute:pinion.gpu.compute-capability < 9.0"), []string{"a-gpu0", "a-gpu2"}, ""},
		"all but a model":       {request(1, 1).with("not(" + isT4 + ")"), []string{"a-gpu1"}, ""},
		"one of two models":     {request(1, 4).with(isT4 + " or " + isH100), []string{"a-gpu0", "a-gpu1", "a-gpu2", "a-gpu3"}, ""},
		"two at once":           {request(1, 1).with(isH100, "attribute:pinion.gpu.memory-mib < 20000"), nil, "no GPU of the host meets the constraints"},
		"with one of the host":  {request(1, 1).with(isH100 + " and attribute:ecs.cpu-architecture == arm64"), nil, `it is "x86_64" here`},
		"no GPU at all":         {request(1, 0).with(isH100), []string{}, ""},
	} {
		d := plan([]Host{mixed("a")}, k.request)
		if got := givenGPUs(d); !slices.Equal(got, k.gpus) {
			t.Errorf("%s: GPUs %v, want %v", name, got, k.gpus)
		}
		if k.refusal != "" && (len(d.Failures) == 0 || !strings.Contains(d.Failures[0].Detail, k.refusal)) {
			t.Errorf("%s: %v", name, d.Failures)
		}
		if k.refusal == "" && len(d.Failures) > 0 {
			t.Errorf("%s: %v", name, d.Failures)
		}
	}
}

// A share, too, is of a GPU that the constraints select.
func TestAShareIsOfAGPUThatItsConstraintsSelect(t *testing.T) {
	hosts := []Host{host("a", 4, sharesGPUs, withModels(t4, h100, t4, h100))}
	d := plan(hosts, shareRequest(2, 300).with(isH100))
	if got := gpusOf(d); fmt.Sprint(got) != "[a-gpu1 a-gpu1]" {
		t.Errorf("shares of %v; %v", got, d.Failures)
	}
	d = plan(hosts, shareRequest(1, 20_000).with(isT4))
	if len(d.Tasks) > 0 || !strings.Contains(d.Failures[0].Detail, "of the 2 that meet the constraints") {
		t.Errorf("a share larger than a T4: %+v", d)
	}
}

// All GPUs of a host are all: none of them may be one that the constraints do not select.
func TestAllGPUsOfAHostMeetTheConstraints(t *testing.T) {
	r := request(1, 1).with(isH100)
	r.Definition.Containers[0].ResourceRequirements[0].Value = "ALL"
	d := plan([]Host{mixed("a"), host("b", 2, withModels(h100, h100))}, r)
	wantPlaces(t, d, "b")
}

// What waits for a GPU of a model is neither helped nor held up by GPUs of another one.
func TestReservationsAndVictimsCountTheGPUsOfTheConstraints(t *testing.T) {
	f := NewHostSet()
	f.add(mixed("a"))
	occupy := func(id, uuid string) *spec.Task {
		task := &spec.Task{ID: id, Cluster: spec.DefaultCluster, HostID: "a", LastStatus: spec.Running, DesiredStatus: spec.Running, CreatedAt: now,
			Containers: []spec.Container{{GPUs: []string{uuid}}}}
		f.PutTask(task)
		return task
	}
	occupy("t4", "a-gpu0")
	occupy("first", "a-gpu1")
	occupy("second", "a-gpu3")
	ends := map[string]time.Time{"t4": now.Add(time.Minute), "first": now.Add(3 * time.Hour), "second": now.Add(2 * time.Hour)}
	r := request(1, 1).with(isH100)
	o, ok := f.FindReservation(r, func(t *spec.Task) time.Time { return ends[t.ID] })
	if !ok || !o.At.Equal(ends["second"]) {
		t.Errorf("reserved for %v, %t", o.At, ok)
	}
	victims := f.Victims(r, func(t *spec.Task) (EvictionCost, bool) { return EvictionCost{Since: ends[t.ID]}, true })
	if len(victims) != 1 || victims[0].ID == "t4" {
		t.Errorf("victims %v", victims)
	}
	held, valid := f.Hold(request(1, 1).with(isT4), Reservation{At: now, Hosts: []Allotment{{HostID: "a", Tasks: 1}}}, func(*spec.Task) time.Time { return time.Time{} })
	if !valid || !slices.Equal(held[0].GPUs(), []string{"a-gpu2"}) {
		t.Errorf("held %v, %t", held, valid)
	}
}

// A request that no GPU of the cluster can meet is told so, and one that must wait is not.
func TestARequestForGPUsThatNobodyHasIsInfeasible(t *testing.T) {
	hosts := []*spec.Host{mixed("a").Host, host("b", 8, withModels(l40s, l40s, l40s, l40s, l40s, l40s, l40s, l40s)).Host}
	for _, k := range []struct {
		request Request
		detail  string
	}{
		{request(1, 2).with(isH100), ""},
		{request(1, 3).with(isH100), "needs 3 GPUs, the host has 2"},
		{request(1, 1).with("attribute:pinion.gpu.memory-mib >= 100000"), "no GPU of the host meets the constraints"},
	} {
		lack, impossible := Infeasible(hosts, k.request)
		if impossible != (k.detail != "") || !strings.Contains(lack.Detail, k.detail) {
			t.Errorf("%v: %t, %+v", k.request.Run.Constraints, impossible, lack)
		}
	}
}

// Whatever is asked for, on whatever hosts: a task has only GPUs that meet its constraints, and one is refused only where too few of those are free.
func TestOnlyGPUsThatMeetTheConstraintsAreGiven(t *testing.T) {
	models := []gpu.Device{h100, l40s, t4, mig1g, mig3g}
	expressions := []string{is1g, isMIG, isH100, isT4, "not(" + isT4 + ")", "attribute:pinion.gpu.memory-mib >= 40000", "attribute:pinion.gpu.compute-capability >= 8.9", ""}
	rapid.Check(t, func(t *rapid.T) {
		var hosts []Host
		for i := range rapid.IntRange(1, 4).Draw(t, "hosts") {
			kinds := rapid.SliceOfN(rapid.SampledFrom(models), 0, 8).Draw(t, "GPUs")
			hosts = append(hosts, host(fmt.Sprintf("h%d", i), len(kinds), withModels(kinds...)))
		}
		f := NewHostSet()
		for _, h := range hosts {
			f.add(h)
		}
		free := map[string]gpu.Device{}
		for _, h := range hosts {
			for _, d := range h.Host.GPUs.Devices {
				free[d.UUID] = d
			}
		}
		newID := ids()
		for range rapid.IntRange(1, 12).Draw(t, "tasks") {
			wanted, text := rapid.IntRange(1, 3).Draw(t, "wanted"), rapid.SampledFrom(expressions).Draw(t, "constraint")
			r := request(1, wanted)
			r.IDs = newID
			meets := func(d gpu.Device) bool { return d.MIGDevice == nil }
			if text != "" {
				r = r.with(text)
				e, _ := query.Parse(text)
				asksForMIG := strings.Contains(text, "mig-profile")
				meets = func(d gpu.Device) bool {
					return (asksForMIG || d.MIGDevice == nil) && e.Match(query.HostFacts{Host: hosts[0].Host, GPU: &d})
				}
			}
			d := f.Plan([]Request{r})[0]
			given := givenGPUs(d)
			for _, uuid := range given {
				if device, isFree := free[uuid]; !isFree || !meets(device) {
					t.Fatalf("%q got %s, %+v, free: %t", text, uuid, device, isFree)
				}
				delete(free, uuid)
			}
			if len(d.Tasks) > 0 {
				continue
			}
			left := map[string]int{}
			for uuid, device := range free {
				if meets(device) {
					left[strings.SplitN(uuid, "-", 2)[0]]++
				}
			}
			for id, n := range left {
				if n >= wanted {
					t.Fatalf("%q for %d GPUs is refused, and %s has %d: %v", text, wanted, id, n, d.Failures)
				}
			}
		}
	})
}

// MIG devices are for tasks that ask for a profile, and whole GPUs for the others.
func TestMIGDevicesAreForTasksThatAskForAProfile(t *testing.T) {
	onlyMIG, host := host("h2", 2, withModels(mig1g, mig1g)), host("h1", 5, withModels(mig1g, h100, mig1g, mig3g, h100))
	all := request(1, 1)
	all.Definition.Containers[0].ResourceRequirements[0].Value = "ALL"
	for name, k := range map[string]struct {
		request Request
		gpus    []string
		milli   int
		reason  string
	}{
		"whole GPUs":              {request: request(1, 2), gpus: []string{"h1-gpu1", "h1-gpu4"}, milli: 2000},
		"more than are whole":     {request: request(1, 3), reason: spec.ReasonGPU},
		"one of a profile":        {request: request(1, 1).with(is1g), gpus: []string{"h1-gpu0"}, milli: 125},
		"two of a profile":        {request: request(1, 2).with(is1g), gpus: []string{"h1-gpu0", "h1-gpu2"}, milli: 250},
		"three of a profile":      {request: request(1, 3).with(is1g), reason: spec.ReasonGPU},
		"any with enough memory":  {request: request(1, 1).with(isMIG, "attribute:pinion.gpu.memory-mib >= 20000"), gpus: []string{"h1-gpu3"}, milli: 500},
		"every whole GPU":         {request: all, gpus: []string{"h1-gpu1", "h1-gpu4"}, milli: 2000},
		"a profile that no has":   {request: request(1, 1).with("attribute:pinion.gpu.mig-profile == 7g.80gb"), reason: spec.ReasonConstraint},
		"whole by its constraint": {request: request(1, 1).with(isH100), gpus: []string{"h1-gpu1"}, milli: 1000},
	} {
		f := NewHostSet()
		f.add(host)
		d := f.Plan([]Request{k.request})[0]
		if got := givenGPUs(d); !slices.Equal(got, k.gpus) {
			t.Errorf("%s: got %v, want %v: %v", name, got, k.gpus, d.Failures)
		}
		if len(d.Tasks) == 1 && d.Tasks[0].GPUMilli() != k.milli {
			t.Errorf("%s: counts for %d thousandths of a GPU, want %d", name, d.Tasks[0].GPUMilli(), k.milli)
		}
		if k.reason != "" && (len(d.Failures) != 1 || d.Failures[0].Reason != k.reason) {
			t.Errorf("%s: refused with %v, want %s", name, d.Failures, k.reason)
		}
	}
	d := plan([]Host{onlyMIG}, request(1, 1))
	if len(d.Failures) != 1 || d.Failures[0].Reason != spec.ReasonGPU || !strings.Contains(d.Failures[0].Detail, "pinion.gpu.mig-profile") {
		t.Errorf("a host with MIG devices alone: %v", d.Failures)
	}
	r := request(1, 1).with(is1g)
	waiting := NewPendingTasks(r)
	r.Waiting = waiting
	if placed := waiting[0].WithPlacement(PlacementOf(waiting[0], plan([]Host{onlyMIG}, r).Tasks[0])); placed.GPUMilli() != 125 {
		t.Errorf("a task that waited counts for %d", placed.GPUMilli())
	}
	if milli, asks := MIGMilli([]*spec.Host{host.Host}, request(1, 2).with(isMIG)); !asks || milli != 250 {
		t.Errorf("two of any profile count for %d while they wait", milli)
	}
}
