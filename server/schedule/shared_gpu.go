package schedule

import (
	"pinion/gpu"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/pack"
)

// gpuGrant is what the containers of a task get of a host's GPUs.
type gpuGrant struct {
	gpus   [][]string       // UUIDs, by container
	mig    []int            // what their MIG devices count for, in thousandths of a GPU, by container; nil when none has one
	shares []*spec.GPUShare // by container; nil when none shares a GPU
}

// into records the grant of the container at index i.
func (g *gpuGrant) into(c *spec.Container, i int) {
	c.GPUs = g.gpus[i]
	if g.mig != nil {
		c.MIGMilli = g.mig[i]
	}
	if g.shares != nil {
		c.Share = g.shares[i]
	}
}

// addWhole grants devices of the host to the container at index i.
func (g *gpuGrant) addWhole(h *Host, i int, picked gpu.DeviceSet) {
	g.gpus[i] = h.gpus.UUIDs(picked)
	if !h.mig {
		return
	}
	for _, uuid := range g.gpus[i] {
		if device, _ := h.Host.GPUs.Device(uuid); device.MIGDevice != nil {
			if g.mig == nil {
				g.mig = make([]int, len(g.gpus))
			}
			g.mig[i] += milliOf(&device)
		}
	}
}

// addShares grants the shares that the containers ask for, all of one GPU of the host; false: none has so much left.
func (g *gpuGrant) addShares(h *Host, containers []spec.ContainerDefinition, mib int64) bool {
	allocation := h.shareOn(mib)
	if allocation == nil {
		return false
	}
	g.shares = make([]*spec.GPUShare, len(g.gpus))
	for i := range containers {
		if share := containers[i].ShareOf(allocation.TotalMiB); share != nil {
			g.gpus[i], g.shares[i] = []string{allocation.UUID}, share
		}
	}
	return true
}

// shareOn is the GPU of the host that a share of that size goes to: the fullest shared one on which it fits, or else the idle one that a
// container with one GPU would get of those that are large enough. Nil: it fits on none.
func (h *Host) shareOn(mib int64) *gpu.Allocation {
	allocations := h.Free.Allocations()
	if shared := allocations.MostAllocated(mib); shared != nil {
		return shared
	}
	var idle []string
	for i := range allocations {
		if allocations[i].Shares(mib, 1) > 0 {
			idle = append(idle, allocations[i].UUID)
		}
	}
	picked := h.gpus.UUIDs(h.gpus.Pick(h.gpus.HealthySet(idle), 1))
	if len(picked) == 0 {
		return nil
	}
	return allocations.Find(picked[0])
}

// sharedFirst is what a host with a shared GPU on which a share fits is ahead of any host that has to open another one, in thousandths of a
// GPU: more than the scorer ever says of a host.
const sharedFirst = 1e6

// shareWaste is the waste of a task with so much CPU that shares a GPU of the host, where it fits: of a shared GPU what stays of it, so that
// the fullest is filled, and the GPUs whose CPU it takes; of an idle one what a task loses the pool that takes it whole.
func shareWaste(common *pack.FragmentationScorer, h *Host, cpu, mib int64) float64 {
	shared := h.Free.Allocations().MostAllocated(mib)
	if shared == nil {
		return gpuLoss(common, h, shapeOf(spec.Demand{CPU: cpu, GPUs: []int{1}}))
	}
	return float64(share(shared.RemainingMiB()-mib, shared.TotalMiB)) + gpuLoss(common, h, pack.Shape{CPU: cpu}) - sharedFirst
}

// takeShares are containers for the shares, which the host must have: what keeps them from other tasks.
func (h *Host) takeShares(shares []int64) (held []spec.Container) {
	left := *h
	for _, mib := range shares {
		allocation := left.shareOn(mib)
		if allocation == nil {
			break
		}
		c := spec.Container{GPUs: []string{allocation.UUID}, Share: &spec.GPUShare{MemoryMiB: mib, TotalMiB: allocation.TotalMiB}}
		left.Free.Take(&spec.Task{Containers: []spec.Container{c}})
		held = append(held, c)
	}
	return held
}
