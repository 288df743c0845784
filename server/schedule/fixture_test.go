package schedule

import (
	"fmt"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// host is ACTIVE, connected and free: 4096 CPU units, 8192 MiB, n GPUs named "<id>-gpu<i>".
func host(id string, gpus int, changes ...func(*spec.Host)) Host {
	h := &spec.Host{ID: id, Cluster: spec.DefaultCluster, Status: spec.HostActive, CPU: 4096, MemoryMiB: 8192,
		Attributes: map[string]string{"ecs.cpu-architecture": "x86_64"}}
	for i := range gpus {
		device := gpu.Device{UUID: fmt.Sprintf("%s-gpu%d", id, i), Index: i, Health: gpu.Healthy}
		h.GPUs.Devices = append(h.GPUs.Devices, device)
	}
	for _, change := range changes {
		change(h)
	}
	return Host{Host: h, Free: spec.NewFree(h, nil), Connected: true}
}

// ids counts: 1, 2, 3 as 32 hex digits.
func ids() func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprintf("%032x", n)
	}
}

// request asks for count tasks of a definition with one container for each number of GPUs.
func request(count int, gpus ...int) Request {
	definition := &spec.TaskDefinition{Family: "work", Revision: 3, Status: spec.DefinitionActive}
	for i, n := range gpus {
		container := spec.ContainerDefinition{Name: fmt.Sprintf("c%d", i), Image: "busybox", CPU: 100, Memory: 100}
		if n > 0 {
			container.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", Value: fmt.Sprint(n)}}
		}
		definition.Containers = append(definition.Containers, container)
	}
	run := spec.RunRequest{Cluster: spec.DefaultCluster, Definition: definition.Name(), Count: count}
	return Request{Run: run, Definition: definition, IDs: ids(), At: now}
}

func plan(hosts []Host, r Request) Decision { return PlanOn(hosts, []Request{r})[0] }

// places lists the host of each task.
func places(d Decision) []string {
	all := []string{}
	for _, task := range d.Tasks {
		all = append(all, task.HostID)
	}
	return all
}

func reasons(d Decision) []string {
	all := []string{}
	for _, failure := range d.Failures {
		all = append(all, failure.HostID+" "+failure.Reason)
	}
	return all
}

func wantPlaces(t *testing.T, d Decision, want ...string) {
	t.Helper()
	if got := places(d); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("placed on %v, want %v; failures %v, %v", got, want, d.Failures, d.Err)
	}
}
