package containerd

import (
	"testing"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

func TestLabelsOfADefinitionNeverReplaceThoseOfTheRuntime(t *testing.T) {
	c := runtime.ContainerSpec{Task: &spec.Task{ID: "t"}, Def: &spec.ContainerDefinition{Name: "main", DockerLabels: map[string]string{
		"team": "vision", "com.example.role": "", "pinion.task": "other", "containerd.io/gc.ref.content.x": "sha256:0", "io.containerd.image.config": "x", "PINION.exit": "{}",
	}}}
	got := containerLabels(c, "/g")
	for name, want := range map[string]string{"team": "vision", "com.example.role": "", labelTask: "t", labelContainer: "main", labelCgroup: "/g"} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s is %q", name, value)
		}
	}
	if len(got) != 2+len(containerLabels(runtime.ContainerSpec{Task: &spec.Task{}, Def: &spec.ContainerDefinition{}}, "")) {
		t.Errorf("%v", got)
	}
}
