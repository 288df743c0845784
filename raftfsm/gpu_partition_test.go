package raftfsm

import (
	"errors"
	"slices"
	"testing"

	"pinion/gpu"
	"pinion/gpu/mig"
	"pinion/raftfsm/spec"
)

// dynamicHost is a host that lets the pool partition its two H100s, with the first one as in the layout.
func dynamicHost(layout mig.Layout) spec.Host {
	h := hostWith("h1", 2)
	h.GPUs.DynamicMIG = true
	whole := h.GPUs.Devices
	for i := range whole {
		whole[i].Model, whole[i].MemoryMiB = "NVIDIA H100 80GB HBM3", 81559
	}
	if len(layout) > 0 {
		h.GPUs.Devices = nil
		for i, instance := range layout {
			d := whole[0]
			d.UUID = "MIG-" + instance.String()
			d.MIGDevice = &gpu.MIGDevice{Parent: whole[0].UUID, Index: i, Profile: instance.Profile, Start: instance.Start}
			h.GPUs.Devices = append(h.GPUs.Devices, d)
		}
		h.GPUs.Devices = append(h.GPUs.Devices, whole[1])
	}
	return h
}

// A GPU that is to be partitioned gets no tasks; its MIG devices do once the host reports them; and those that are to go get none before they go.
func TestTheStateFollowsAGPUThatIsPartitioned(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutHost{dynamicHost(nil)})
	first, second := h.View().Host("h1").GPUs.Devices[0].UUID, h.View().Host("h1").GPUs.Devices[1].UUID
	free := func(want ...string) {
		t.Helper()
		if got := h.View().Free("h1").GPUs; !slices.Equal(got, want) {
			t.Errorf("free are %v, want %v", got, want)
		}
	}
	free(first, second)
	two := mig.Layout{{Profile: "3g.40gb", Start: 0}, {Profile: "1g.10gb", Start: 4}}
	h.do(t, SetGPUPartition{HostID: "h1", UUID: first, Layout: two, At: at(1)})
	free(second)
	if result := h.launch(t, Launch{Tasks: []*spec.Task{task("t1", "h1", first)}}); len(result.Result.Tasks) != 0 {
		t.Error("a task was given a GPU that is being partitioned")
	}
	h.do(t, PutHost{dynamicHost(two)})
	free("MIG-3g.40gb at 0", "MIG-1g.10gb at 4", second)

	h.running(t, task("t2", "h1", "MIG-1g.10gb at 4"))
	if _, err := h.try(t, SetGPUPartition{HostID: "h1", UUID: first, At: at(2)}); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("a MIG device that a task has goes: %v", err)
	}
	h.do(t, SetGPUPartition{HostID: "h1", UUID: first, Layout: two[1:], At: at(2)})
	free(second)
	h.do(t, PutHost{dynamicHost(two[1:])})
	free(second)
	h.report(t, "h1", spec.TaskReport{TaskID: "t2", Status: spec.Stopped})
	h.do(t, SetGPUPartition{HostID: "h1", UUID: first, At: at(3)})
	free(second)
	h.do(t, PutHost{dynamicHost(nil)})
	free(first, second)
	if left := h.View().Host("h1").Partitions; len(left) != 0 {
		t.Errorf("still partitioned: %+v", left)
	}
}

func TestAGPUIsPartitionedOnlyAsItsHostAllows(t *testing.T) {
	h := newHistory(t)
	fixed := hostWith("h2", 1)
	h.do(t, PutHost{fixed})
	h.do(t, PutHost{dynamicHost(mig.Layout{{Profile: "1g.10gb", Start: 0}})})
	first, second := h.View().Host("h1").GPUs.Devices[0].MIGDevice.Parent, h.View().Host("h1").GPUs.Devices[1].UUID
	one := mig.Layout{{Profile: "1g.10gb", Start: 3}}
	for name, k := range map[string]struct {
		command SetGPUPartition
		want    error
	}{
		"no host":                            {SetGPUPartition{HostID: "h3", UUID: first, Layout: one}, spec.ErrNotFound},
		"no GPU":                             {SetGPUPartition{HostID: "h1", UUID: "GPU-other", Layout: one}, spec.ErrNotFound},
		"a host that does not allow it":      {SetGPUPartition{HostID: "h2", UUID: fixed.GPUs.Devices[0].UUID, Layout: one}, spec.ErrInUse},
		"MIG devices that somebody has made": {SetGPUPartition{HostID: "h1", UUID: first, Layout: one}, spec.ErrInUse},
		"a layout that no GPU has":           {SetGPUPartition{HostID: "h1", UUID: second, Layout: mig.Layout{{Profile: "1g.10gb", Start: 4}, {Profile: "1g.20gb", Start: 4}}}, nil},
	} {
		_, err := h.try(t, k.command)
		if err == nil || k.want != nil && !errors.Is(err, k.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the pool wanted of GPUs that are gone, or of a host that lets it partition none any more, keeps no GPU from tasks.
func TestAPartitionEndsWithItsGPUOrItsHostsLeave(t *testing.T) {
	one := mig.Layout{{Profile: "1g.10gb", Start: 0}}
	for name, change := range map[string]func(*spec.Host){
		"the host is started without --mig dynamic": func(h *spec.Host) { h.GPUs.DynamicMIG = false },
		"the GPU was exchanged":                     func(h *spec.Host) { h.GPUs.Devices[0].UUID = "GPU-new" },
	} {
		h := newHistory(t)
		h.do(t, PutHost{dynamicHost(nil)})
		h.do(t, SetGPUPartition{HostID: "h1", UUID: h.View().Host("h1").GPUs.Devices[0].UUID, Layout: one, At: at(1)})
		host := dynamicHost(nil)
		change(&host)
		h.do(t, PutHost{host})
		if left, free := h.View().Host("h1").Partitions, h.View().Free("h1").GPUs; len(left) != 0 || len(free) != 2 {
			t.Errorf("%s: %+v, free are %v", name, left, free)
		}
	}
}
