package query

import (
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// rack7 is a connected host with two GPUs, one running task of group database and one of service:production that
// waits for its image.
func rack7() HostFacts {
	return HostFacts{
		Connected: true,
		Host: &spec.Host{
			Name: "gpu-7", Version: "1.14.5", RegisteredAt: time.Date(2018, 6, 18, 22, 28, 28, 123_000_000, time.UTC),
			Attributes: map[string]string{
				"ecs.instance-type": "g2.2xlarge", "ecs.availability-zone": "us-east-1a", "stack": "dev", "empty": "",
				"speed": "9", "kernel": "6.8.0", "label": "it's a b",
			},
			GPUs: gpu.Inventory{Driver: "535.104.05", CUDA: "12.2", Devices: []gpu.Device{
				{UUID: "a", Model: "NVIDIA H100 80GB HBM3", MemoryMiB: 81559}, {UUID: "b", Model: "NVIDIA H100 80GB HBM3", MemoryMiB: 81559},
			}},
		},
		Tasks: []*spec.Task{
			{Group: "database", DesiredStatus: spec.Running, LastStatus: spec.Running},
			{Group: "service:production", DesiredStatus: spec.Running, LastStatus: spec.Pending},
			{Group: "leaving", DesiredStatus: spec.Stopped, LastStatus: spec.Running},
			{Group: "gone", DesiredStatus: spec.Stopped, LastStatus: spec.Stopped},
		},
	}
}

func parse(t testing.TB, expression string) *Expr {
	t.Helper()
	e, err := Parse(expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return e
}
