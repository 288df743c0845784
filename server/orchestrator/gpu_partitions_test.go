package orchestrator

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/gpu/mig"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// partitionedPool is a pool with a host that lets it partition its one H100, and the reconciler.
type partitionedPool struct {
	*memProposer
	t *testing.T
	r *GPUPartitions
}

func newPartitionedPool(t *testing.T) *partitionedPool {
	p := &partitionedPool{&memProposer{state: raftfsm.NewState(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, t, nil}
	p.r = &GPUPartitions{Proposer: p, Schedulable: everywhere, Log: slog.New(slog.DiscardHandler)}
	p.do(t, raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	p.do(t, raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Containers: []spec.ContainerDefinition{{
		Name: "c", Memory: 4, ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: "1"}},
	}}}})
	p.report(nil)
	return p
}

// report has the host say how its GPU is partitioned.
func (p *partitionedPool) report(l mig.Layout) {
	p.t.Helper()
	whole := gpu.Device{UUID: "GPU-0", Model: "NVIDIA H100 80GB HBM3", MemoryMiB: 81559, Health: gpu.Healthy}
	h := spec.Host{ID: "h", Name: "gpu-1", Cluster: spec.DefaultCluster, CPU: 9999, MemoryMiB: 9999, GPUs: gpu.Inventory{DynamicMIG: true}}
	if len(l) == 0 {
		h.GPUs.Devices = []gpu.Device{whole}
	}
	for n, i := range l {
		d := whole
		d.UUID, d.MIGDevice = fmt.Sprint("MIG-", i), &gpu.MIGDevice{Parent: whole.UUID, ParentMemoryMiB: whole.MemoryMiB, Index: n, Profile: i.Profile, Start: i.Start}
		h.GPUs.Devices = append(h.GPUs.Devices, d)
	}
	p.do(p.t, raftfsm.PutHost{Host: h})
}

// wait adds a task that waits for a MIG device of the profile, or for a whole GPU.
func (p *partitionedPool) wait(id, profile string, change func(*spec.Task)) {
	p.t.Helper()
	task := &spec.Task{ID: id, Cluster: spec.DefaultCluster, Definition: "f:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running, CreatedAt: p.now, Queue: &spec.QueueSpec{}}
	if profile != "" {
		task.Queue.Constraints = []spec.PlacementConstraint{{Type: spec.MemberOf, Expression: "attribute:pinion.gpu.mig-profile == " + profile}}
	}
	if change != nil {
		change(task)
	}
	p.do(p.t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}})
}

// wanted is how the GPU is to be partitioned, after the reconciler has looked again.
func (p *partitionedPool) wanted() string {
	p.t.Helper()
	if err := p.r.Reconcile(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, g := range p.state.View().Host("h").Partitions {
		all = append(all, g.Layout.String())
	}
	return strings.Join(all, "; ")
}

func (p *partitionedPool) want(step, layout string) {
	p.t.Helper()
	if got := p.wanted(); got != layout {
		p.t.Errorf("%s: it is to be %q, want %q", step, got, layout)
	}
}

func TestAGPUIsPartitionedForTasksThatWaitAndWholeAgainAfterThem(t *testing.T) {
	p := newPartitionedPool(t)
	p.want("nobody waits", "")
	p.wait("t1", "3g.40gb", func(t *spec.Task) { t.Queue.NotBefore = p.now.Add(time.Hour) })
	p.want("a task that waits for a moment", "")
	p.wait("t2", "1g.10gb", nil)
	p.want("a task waits", "1g.10gb at 6")
	p.want("and waits", "1g.10gb at 6")
	p.report(mig.Layout{{Profile: "1g.10gb", Start: 6}})
	p.do(t, raftfsm.StopTask{ID: "t2", At: p.now})
	p.want("it waits no more", "1g.10gb at 6")
	p.now = p.now.Add(mergeAfter - time.Second)
	p.want("others may ask for the same", "1g.10gb at 6")
	p.now = p.now.Add(time.Second)
	p.want("nobody has", "a whole GPU")
	p.report(nil)
	p.want("it is whole", "")
}

func TestATaskForAWholeGPUDoesNotWaitForIdleMIGDevices(t *testing.T) {
	p := newPartitionedPool(t)
	p.wait("t1", "1g.10gb", nil)
	p.want("a task waits", "1g.10gb at 6")
	p.report(mig.Layout{{Profile: "1g.10gb", Start: 6}})
	p.do(t, raftfsm.StopTask{ID: "t1", At: p.now})
	p.wait("t2", "", nil)
	p.want("another wants the whole GPU", "a whole GPU")
}

func TestAHostThatDoesNotPartitionItsGPUIsLeftAlone(t *testing.T) {
	p := newPartitionedPool(t)
	p.wait("t1", "1g.10gb", nil)
	p.want("a task waits", "1g.10gb at 6")
	p.want("the host has not done it yet", "1g.10gb at 6")
	p.now = p.now.Add(partitionDeadline)
	p.want("the host does nothing", "")
	p.want("and is left alone", "")
	p.now = p.now.Add(partitionPause)
	p.want("for a while", "1g.10gb at 6")
}
