package spec

import (
	"reflect"
	"testing"
)

func TestEffective(t *testing.T) {
	base := func() *TaskDefinition {
		return &TaskDefinition{Family: "f", CPU: "256", Memory: "512", Containers: []ContainerDefinition{
			{Name: "a", CPU: 1, Memory: 2, Command: []string{"run"}, Environment: []KeyValue{{"X", "1"}, {"Y", "2"}},
				ResourceRequirements: []ResourceRequirement{{Type: "GPU", Value: "1"}}},
			{Name: "b", Memory: 4},
		}}
	}
	number := func(n int64) *int64 { return &n }
	cases := []struct {
		name     string
		override TaskOverride
		change   func(want *TaskDefinition)
	}{
		{"nothing", TaskOverride{Containers: []ContainerOverride{{Name: "a"}, {Name: "b"}}}, func(*TaskDefinition) {}},
		{"task level", TaskOverride{CPU: "1024"}, func(d *TaskDefinition) { d.CPU = "1024" }},
		{"command", TaskOverride{Containers: []ContainerOverride{{Name: "b", Command: []string{"ls"}}}},
			func(d *TaskDefinition) { d.Containers[1].Command = []string{"ls"} }},
		{"environment by name", TaskOverride{Containers: []ContainerOverride{{Name: "a", Environment: []KeyValue{{"Z", "3"}, {"X", ""}}}}},
			func(d *TaskDefinition) { d.Containers[0].Environment = []KeyValue{{"X", ""}, {"Y", "2"}, {"Z", "3"}} }},
		{"amounts, zero too", TaskOverride{Containers: []ContainerOverride{{Name: "a", CPU: number(0), Memory: number(9), MemoryReservation: number(3)}}},
			func(d *TaskDefinition) {
				d.Containers[0].CPU, d.Containers[0].Memory, d.Containers[0].MemoryReservation = 0, 9, 3
			}},
		{"GPUs are replaced", TaskOverride{Containers: []ContainerOverride{{Name: "a", ResourceRequirements: []ResourceRequirement{{Type: "GPU", Value: "4"}}}}},
			func(d *TaskDefinition) { d.Containers[0].ResourceRequirements[0].Value = "4" }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			definition, want := base(), base()
			c.change(want)
			if got := Effective(definition, c.override); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if !reflect.DeepEqual(definition, base()) {
				t.Errorf("the definition itself became %+v", definition)
			}
		})
	}
}
