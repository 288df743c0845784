package schedule

import (
	"cmp"
	"math/bits"
	"slices"

	"pinion/server/schedule/pack"
)

// cost ranks the hosts that can run a task; the lowest is the best.
type cost struct {
	// waste is, for a task with whole GPUs, the GPU capacity that common tasks can no longer use (pack.FragmentationScorer), in
	// thousandths of a GPU, minus linkScore; see shareWaste for one that shares a GPU. For a task without GPUs it is the number of free GPUs on the host, which
	// large tasks would miss.
	waste    float64
	gpus     int   // GPUs of the host, for tasks without GPUs: they prefer a host that has none
	headroom int64 // free CPU plus free memory, each in thousandths of the host's total
	missing  int   // images of the task that the host has to pull
}

func (c cost) compare(other cost) int {
	return cmp.Or(cmp.Compare(c.waste, other.waste), cmp.Compare(c.gpus, other.gpus), cmp.Compare(c.headroom, other.headroom), cmp.Compare(c.missing, other.missing))
}

// costOn returns the cost of one task on a host. The task must fit there.
func (a *evaluation) costOn(h *Host) cost {
	c := cost{headroom: share(h.Free.CPU-a.demand.CPU, h.Host.CPU) + share(h.Free.MemoryMiB-a.demand.MemoryMiB, h.Host.MemoryMiB), missing: a.images.missingOn(h)}
	demand := a.demandOn(h)
	if shape := shapeOf(*demand); shape.GPUs > 0 {
		c.waste = gpuLoss(a.fragmentation, a.gpuConstraints.ofKind(h), shape) - linkScore(a.gpuConstraints.restrict(h), slices.Max(demand.GPUs))
	} else if mib := demand.ShareMiB(); mib > 0 {
		c.waste = shareWaste(a.fragmentation, a.gpuConstraints.restrict(h), a.demand.CPU, mib)
	} else {
		c.waste, c.gpus = float64(len(h.Free.GPUs)), len(h.Host.GPUs.Devices)
	}
	return c
}

// gpuLoss is the GPU capacity that common tasks can no longer use when a task of the shape runs on the host, in thousandths of a GPU.
func gpuLoss(common *pack.FragmentationScorer, h *Host, shape pack.Shape) float64 {
	return float64(shape.GPUMilli()) - common.Score(h.Free.CPU, len(h.Free.GPUs), shape)
}

// linkWeight is the bonus for each doubling of the mean link score, in thousandths of a GPU. All doublings together stay
// below a twentieth of a GPU, so a task never fragments a host that common tasks need only to get better links.
const linkWeight = 6

// linkScore is the bonus for the links between the GPUs that a container asking for `gpus` GPUs would get on the host.
func linkScore(h *Host, gpus int) float64 {
	if gpus < 2 {
		return 0
	}
	mean := h.gpus.Score(h.idle, gpus) * 2 / (gpus * (gpus - 1))
	return float64(linkWeight * bits.Len(uint(mean)))
}

// share returns part/whole in thousandths.
func share(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return part * 1000 / whole
}
