package task

import (
	"slices"
	"testing"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

func TestEnvironment(t *testing.T) {
	type vars = []spec.KeyValue
	for name, c := range map[string]struct {
		definition vars
		gpus       []string
		want       []string
	}{
		"without GPUs a container sees none": {nil, nil, []string{"NVIDIA_VISIBLE_DEVICES=void"}},
		"its GPUs, in their order":           {nil, []string{"GPU-b", "GPU-a"}, []string{"NVIDIA_VISIBLE_DEVICES=GPU-b,GPU-a"}},
		"the definition cannot take GPUs": {
			vars{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"}}, nil, []string{"NVIDIA_VISIBLE_DEVICES=void"}},
		"nor other ones": {
			vars{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "GPU-x"}, {Name: "A", Value: "1"}}, []string{"GPU-a"}, []string{"NVIDIA_VISIBLE_DEVICES=GPU-a", "A=1"}},
		"other NVIDIA variables are the definition's": {
			vars{{Name: "NVIDIA_DRIVER_CAPABILITIES", Value: "compute"}}, nil, []string{"NVIDIA_DRIVER_CAPABILITIES=compute", "NVIDIA_VISIBLE_DEVICES=void"}},
		"the last of a name wins": {
			vars{{Name: "A", Value: "1"}, {Name: "B", Value: "x=y"}, {Name: "A", Value: "2"}}, nil, []string{"A=2", "B=x=y", "NVIDIA_VISIBLE_DEVICES=void"}},
		"an empty value is a value": {vars{{Name: "A"}}, nil, []string{"A=", "NVIDIA_VISIBLE_DEVICES=void"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.definition)
			s := &Start{Spec: runtime.ContainerSpec{Def: &spec.ContainerDefinition{Environment: c.definition}, GPUs: c.gpus}}
			for _, hook := range []SpecHook{environmentHook{}, visibleDevicesHook{}} {
				if err := hook.BuildSpec(s); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.Spec.Env; !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if !slices.Equal(before, c.definition) {
				t.Error("the definition was changed")
			}
		})
	}
}
