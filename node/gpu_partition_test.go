package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/gpu/mig"
	"pinion/raftfsm/partition"
)

// fakePartitions are the partitions that the pool wants of the host's GPUs.
type fakePartitions struct {
	mu   sync.Mutex
	list partition.List
}

func (p *fakePartitions) GPUPartitions(context.Context, string) (partition.List, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list, nil
}

func (p *fakePartitions) want(uuid string, names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, _ := mig.Arrange(h100, names)
	p.list = partition.List{{UUID: uuid, Layout: l}}
}

const h100 = "NVIDIA H100 80GB HBM3"

// Partition is of gpu.Partitioner. What a check of the GPU finds is what goes wrong.
func (g *fakeGPUs) Partition(_ context.Context, uuid string, layout mig.Layout) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.wrong[uuid]; err != nil {
		return err
	}
	index := slices.IndexFunc(g.devices, func(d gpu.Device) bool { return d.IsOf(uuid) })
	whole := gpu.Device{UUID: uuid, Index: g.devices[index].Index, Model: h100, MemoryMiB: 80_000, Health: gpu.Healthy}
	g.devices = slices.DeleteFunc(g.devices, func(d gpu.Device) bool { return d.IsOf(uuid) })
	if len(layout) == 0 {
		g.devices = append(g.devices, whole)
	}
	for n, i := range layout {
		d := whole
		d.UUID, d.MIGDevice = "MIG "+i.String(), &gpu.MIGDevice{Parent: uuid, Index: n, Profile: i.Profile, Start: i.Start}
		g.devices = append(g.devices, d)
	}
	return nil
}

// wantDevices compares what the pool knows: "GPU-1 HEALTHY".
func (w *simHost) wantDevices(want ...string) {
	w.Helper()
	w.waitIdle()
	w.control.mu.Lock()
	defer w.control.mu.Unlock()
	var got []string
	for _, d := range w.control.hosts[hostID].GPUs.Devices {
		got = append(got, fmt.Sprint(d.UUID, " ", d.Health))
	}
	slices.Sort(got)
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		w.Errorf("the pool knows %v, want %v", got, want)
	}
}

func TestAHostPartitionsItsGPUsAsThePoolWants(t *testing.T) {
	simulate(t, func(w *simHost) {
		pool := &fakePartitions{}
		w.partitions = pool
		w.boot()
		w.want("the pool may partition them", w.control.hosts[hostID].GPUs.DynamicMIG, true)
		pool.want("GPU-0", "4g.40gb", "1g.10gb")
		w.advance(2 * time.Second)
		w.wantDevices("GPU-1 HEALTHY", "MIG 1g.10gb at 4 HEALTHY", "MIG 4g.40gb at 0 HEALTHY")

		w.crash()
		pool.want("GPU-0", "4g.40gb") // while the agent is away
		w.boot()
		w.advance(2 * time.Second)
		w.wantDevices("GPU-1 HEALTHY", "MIG 4g.40gb at 0 HEALTHY")
		pool.want("GPU-0")
		w.advance(2 * time.Second)
		w.wantDevices("GPU-0 HEALTHY", "GPU-1 HEALTHY")
	})
}

// The pool gives no GPU that a task has, and the host does not take its word for it.
func TestAGPUThatATaskHasIsNotPartitioned(t *testing.T) {
	simulate(t, func(w *simHost) {
		pool := &fakePartitions{}
		w.partitions = pool
		w.boot()
		task := w.control.run("t1", withGPUs("a", "GPU-0"))
		w.waitIdle()
		pool.want("GPU-0", "7g.80gb")
		w.advance(time.Minute)
		w.wantDevices("GPU-0 UNHEALTHY", "GPU-1 HEALTHY")
		w.wantRunning(id(task, "a"))
		w.control.stop(task, "enough")
		w.advance(time.Minute)
		w.wantDevices("GPU-1 HEALTHY", "MIG 7g.80gb at 0 HEALTHY")

		w.gpus.setProcesses("MIG 7g.80gb at 0", 4711) // somebody else's
		pool.want("GPU-0")
		w.advance(time.Minute)
		w.wantDevices("GPU-1 HEALTHY", "MIG 7g.80gb at 0 UNHEALTHY")
	})
}

func TestAGPUThatCannotBePartitionedSaysWhy(t *testing.T) {
	simulate(t, func(w *simHost) {
		pool := &fakePartitions{}
		w.partitions = pool
		w.boot()
		w.gpus.setWrong("GPU-0", errors.New("its MIG mode changes with its next reset"))
		pool.want("GPU-0", "7g.80gb")
		w.advance(time.Minute)
		w.wantDevices("GPU-0 UNHEALTHY", "GPU-1 HEALTHY")
		w.control.mu.Lock()
		device, _ := w.control.hosts[hostID].GPUs.Device("GPU-0")
		w.control.mu.Unlock()
		if !strings.Contains(device.Problem, "next reset") || !strings.Contains(device.Problem, "7g.80gb at 0") {
			w.Errorf("its problem: %s", device.Problem)
		}
		pool.mu.Lock()
		pool.list = nil // the pool has given up
		pool.mu.Unlock()
		w.advance(time.Minute)
		w.wantDevices("GPU-0 HEALTHY", "GPU-1 HEALTHY")
	})
}

// A host that does not allow it is not asked.
func TestAHostWithoutDynamicMIGKeepsItsGPUs(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.advance(time.Minute)
		w.wantDevices("GPU-0 HEALTHY", "GPU-1 HEALTHY")
		w.want("the pool may partition them", w.control.hosts[hostID].GPUs.DynamicMIG, false)
	})
}
