package schedule

import (
	"slices"
	"strings"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// everyGPU asks for all that a host has.
func everyGPU(count int) Request {
	r := request(count, 0, 1)
	r.Definition.Containers[1].ResourceRequirements[0].Value = spec.AllGPUs
	return r
}

func TestEveryGPUOfAHost(t *testing.T) {
	sick := host("d", 4)
	sick.Host.GPUs.Devices[0].Health = gpu.Unhealthy
	sick.Free = spec.NewFree(sick.Host, nil)
	got := plan([]Host{host("a", 0), used(host("b", 8), 1, 0), host("c", 2), sick, host("e", 8)}, everyGPU(3))
	wantPlaces(t, got, "c", "e")
	if len(got.Tasks) == 2 && len(got.Tasks[1].Containers[1].GPUs) != 8 {
		t.Errorf("it has %v", got.Tasks[1].GPUs())
	}
	want := []string{"a RESOURCE:GPU", "b RESOURCE:GPU", "c RESOURCE:GPU", "d RESOURCE:GPU", "e RESOURCE:GPU"}
	if all := reasons(got); !slices.Equal(all, want) {
		t.Errorf("failures %v", all)
	}
	if detail := got.Failures[1].Detail; detail != "needs 8 GPUs, 7 free" {
		t.Errorf("the detail is %q", detail)
	}
}

func TestAPartOfAGPUIsRefusedWithAReason(t *testing.T) {
	r := request(1, 1)
	r.Definition.Containers[0].ResourceRequirements[0] = spec.ResourceRequirement{Type: "GPU", SharingStrategy: &spec.SharingStrategy{}}
	got := plan([]Host{host("a", 1)}, r)
	if len(got.Tasks) != 0 || len(got.Failures) != 1 || got.Failures[0].Reason != spec.ReasonAttribute || !strings.Contains(got.Failures[0].Detail, "gpu-sharing") {
		t.Errorf("%+v", got)
	}
}

func TestAHostIsNotGivenWhatItCannotDo(t *testing.T) {
	r := request(1, 0)
	r.Definition.RequiresAttributes = []spec.Attribute{{Name: "ecs.capability.later"}}
	newer := host("b", 0, func(h *spec.Host) { h.Attributes = map[string]string{"ecs.capability.later": ""} })
	got := plan([]Host{host("a", 0), newer}, r)
	wantPlaces(t, got, "b")
}

func TestOverridesAreRecordedWhole(t *testing.T) {
	r := request(1, 0)
	r.Run.Overrides = spec.TaskOverride{TaskRoleARN: "role", ExecutionRoleARN: "execution", CPU: "256"}
	got := plan([]Host{host("a", 0)}, r)
	o := got.Tasks[0].Overrides.Get()
	if o.TaskRoleARN != "role" || o.ExecutionRoleARN != "execution" || o.CPU != "256" || len(o.Containers) != 1 || o.Containers[0].Name != "c0" {
		t.Errorf("%+v", o)
	}
}
