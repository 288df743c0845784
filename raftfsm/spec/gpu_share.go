package spec

import (
	"cmp"
	"fmt"
	"slices"

	"pinion/gpu"
	"pinion/raftfsm/gpuuse"
)

// GPUShare is the share of a GPU's memory that a container holds; the GPU is the only one in Container.GPUs.
type GPUShare struct {
	MemoryMiB      int64 `json:"memoryMiB"`
	TotalMiB       int64 `json:"totalMiB"`                 // of the GPU when the task was placed: what the share counts for, whatever becomes of the host
	ComputePercent int64 `json:"computePercent,omitempty"` // of the GPU's threads that the container may use at most; 0: no limit
}

// Strategy is the share as ECS writes it; nil of nil.
func (s *GPUShare) Strategy() *SharingStrategy {
	if s == nil {
		return nil
	}
	mps := &NvidiaMPS{Memory: s.MemoryMiB}
	if s.ComputePercent > 0 {
		mps.MaxComputePercent = &s.ComputePercent
	}
	return &SharingStrategy{NvidiaMPS: mps}
}

// Milli returns the share in thousandths of a GPU, rounded up.
func (s *GPUShare) Milli() int { return gpuuse.MilliOf(s.MemoryMiB, s.TotalMiB) }

// GPUMilli returns the GPUs that the task holds, in thousandths of one.
func (t *Task) GPUMilli() (sum int) {
	for i := range t.Containers {
		if c := &t.Containers[i]; c.Share != nil {
			sum += c.Share.Milli()
		} else if c.MIGMilli > 0 {
			sum += c.MIGMilli
		} else {
			sum += len(c.GPUs) * gpuuse.Milli
		}
	}
	return sum
}

// SharesGPUs reports whether the host keeps containers to shares of a GPU, so that it may be given such. A simulated host says that it does,
// and enforces nothing.
func (h *Host) SharesGPUs() bool { return h.GPUs.VRAMEnforcement == gpu.EnforcedByMPS }

// Sharing returns the container's strategy for sharing a GPU; nil when it asks for none or for whole ones.
func (c *ContainerDefinition) Sharing() *SharingStrategy {
	for _, r := range c.ResourceRequirements {
		if r.Type == requirementGPU && r.SharingStrategy != nil {
			return r.SharingStrategy
		}
	}
	return nil
}

// share returns the share of a GPU that the container asks for; nil when it asks for none or for whole ones. A way of sharing that is not known is a share of no
// size, which fits nowhere.
func (c *ContainerDefinition) share() *NvidiaMPS {
	if s := c.Sharing(); s != nil {
		return cmp.Or(s.NvidiaMPS, &NvidiaMPS{})
	}
	return nil
}

// ShareOf is the share of a container on a GPU with so much memory; nil when it asks for none.
func (c *ContainerDefinition) ShareOf(totalMiB int64) *GPUShare {
	asked := c.share()
	if asked == nil {
		return nil
	}
	share := &GPUShare{MemoryMiB: asked.Memory, TotalMiB: totalMiB}
	if asked.MaxComputePercent != nil {
		share.ComputePercent = *asked.MaxComputePercent
	}
	return share
}

// SharingRefusal returns the reason why a host does not start a task that was placed there, for the GPUs that it shares; empty when it does.
// The scheduler has held the same, but a host does not take its word: a container gets the share that its definition asks for, of a
// GPU whose shares this host enforces, or it does not run.
func SharingRefusal(h *Host, t *Task, d *TaskDefinition) string {
	for i := range d.Containers {
		c := &d.Containers[i]
		at := slices.IndexFunc(t.Containers, func(placed Container) bool { return placed.Name == c.Name })
		if at < 0 {
			continue
		}
		placed, asked := &t.Containers[at], c.share()
		switch {
		case asked == nil && placed.Share == nil:
		case asked == nil:
			return fmt.Sprintf("container %s was given a share of a GPU and asks for none: run the task again", c.Name)
		case !h.SharesGPUs():
			return fmt.Sprintf("container %s asks for a share of a GPU, and this host enforces no limit of GPU memory (%s is %s): ask for whole GPUs, or run it on a host that does",
				c.Name, AttributeVRAMEnforcement, h.vramEnforcement())
		case placed.Share == nil || len(placed.GPUs) != 1 || *placed.Share != *c.ShareOf(placed.Share.TotalMiB):
			return fmt.Sprintf("container %s was not given the share of a GPU that it asks for: run the task again", c.Name)
		}
	}
	return ""
}

// wholeGPUs lists the UUIDs that the containers hold as a whole; a UUID that is named twice is in it twice.
func (t *Task) wholeGPUs() (all []string) {
	for i := range t.Containers {
		switch {
		case t.Containers[i].Share != nil:
		case all == nil:
			all = slices.Clip(t.Containers[i].GPUs) // mostly one container has them all
		default:
			all = append(all, t.Containers[i].GPUs...)
		}
	}
	return all
}

// SharesGPU reports whether a container of the task holds a share of a GPU.
func (t *Task) SharesGPU() bool {
	return slices.ContainsFunc(t.Containers, func(c Container) bool { return c.Share != nil })
}

// fitsShares says for people why the shares that the task names are not free; empty when they are, or when it names none. All of them are
// on one GPU, and together within what it offers.
func (f *Free) fitsShares(t *Task) string {
	var sum int64
	uuid := ""
	for i := range t.Containers {
		c := &t.Containers[i]
		if c.Share == nil {
			continue
		}
		if len(c.GPUs) != 1 || c.Share.MemoryMiB <= 0 || uuid != "" && uuid != c.GPUs[0] {
			return "the shares of a task are all on one GPU, and each has memory"
		}
		uuid, sum = c.GPUs[0], saturatingAdd(sum, c.Share.MemoryMiB)
		if allocation := f.allocations.Find(uuid); allocation == nil || allocation.TotalMiB != c.Share.TotalMiB {
			return fmt.Sprintf("%s is no GPU with %d MiB that can be shared", uuid, c.Share.TotalMiB)
		}
	}
	switch {
	case uuid == "":
		return ""
	case len(t.wholeGPUs()) > 0:
		return "a task has whole GPUs or shares of one, not both"
	case f.allocations.Find(uuid).Shares(sum, 1) == 0:
		return fmt.Sprintf("%s has no %d MiB to share", uuid, sum)
	}
	return ""
}
