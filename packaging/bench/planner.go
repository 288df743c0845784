package main

import (
	"fmt"
	"runtime"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// measurePlanner fills ten thousand hosts of eight GPUs up to nine tenths with tasks of one GPU, request by request, on one
// core and with nothing recorded.
func measurePlanner() ([]figure, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const hosts = 10_000
	fleet := schedule.NewHostSet()
	for i := range hosts {
		fleet.PutHost(&spec.Host{ID: hostID(i), Cluster: trioCluster, Status: spec.HostActive, CPU: 128 << 10,
			MemoryMiB: 1 << 20, GPUs: gpu.Inventory{Devices: plainGPUs(i)}}, true)
	}
	next := 0
	request := schedule.Request{
		Run: spec.RunRequest{Cluster: trioCluster, Count: 1},
		Definition: &spec.TaskDefinition{Family: "bench", Revision: 1, Containers: []spec.ContainerDefinition{{
			Name: "main", Image: "pinion/self", CPU: 1024, Memory: 1024,
			ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: "1"}},
		}}},
		IDs: func() string { next++; return taskID(next) },
	}
	runtime.GC()
	begin := time.Now()
	const tasks = hosts * 8 * 9 / 10
	for range tasks {
		if d := fleet.Plan([]schedule.Request{request})[0]; len(d.Tasks) != 1 {
			return nil, fmt.Errorf("the planner finds no place: %v, %v", d.Err, d.Failures[:min(1, len(d.Failures))])
		}
	}
	rate := tasks / time.Since(begin).Seconds()
	return []figure{{"planner alone, one core, 10000 hosts", fmt.Sprintf("%.0f placements a second", rate), "-", "at least 50000"}}, nil
}

// plainGPUs are eight GPUs with NVLinks between all of them.
func plainGPUs(host int) []gpu.Device {
	devices := make([]gpu.Device, 8)
	for i := range devices {
		devices[i] = gpu.Device{UUID: fmt.Sprintf("GPU-%d-%d", host, i), Index: i, Health: gpu.Healthy}
		for peer := range devices {
			if peer != i {
				link := gpu.Link{Peer: fmt.Sprintf("GPU-%d-%d", host, peer), Kind: gpu.LinkNVLink, Lanes: 18}
				devices[i].Links = append(devices[i].Links, link)
			}
		}
	}
	return devices
}
