package schedule

import (
	"cmp"
	"math/bits"
	"slices"
)

// cost orders the hosts that could run a task, the lowest is the best.
type cost struct {
	// waste is, for GPU tasks, how much of the GPUs that are of use to popular tasks is lost, in thousandths of one
	// (pack.Outlook), less what good links are worth; for others the GPUs that stay free there, which big tasks will miss.
	waste    float64
	gpus     int   // GPUs of the host, for tasks that want none: better a host that never has any
	headroom int64 // CPU and memory left, in thousandths of the host's
}

func (c cost) compare(other cost) int {
	return cmp.Or(cmp.Compare(c.waste, other.waste), cmp.Compare(c.gpus, other.gpus), cmp.Compare(c.headroom, other.headroom))
}

// costOn is for a host that the task fits on.
func (a *evaluation) costOn(h *Host) cost {
	c := cost{headroom: share(h.Free.CPU-a.demand.CPU, h.Host.CPU) + share(h.Free.MemoryMiB-a.demand.MemoryMiB, h.Host.MemoryMiB)}
	demand := a.demandOn(h)
	if shape := shapeOf(demand); shape.GPUs > 0 {
		lost := float64(shape.GPUMilli()) - a.fragmentation.Score(h.Free.CPU, len(h.Free.GPUs), shape)
		c.waste = lost - linkScore(h, slices.Max(demand.GPUs))
	} else {
		c.waste, c.gpus = float64(len(h.Free.GPUs)), len(h.Host.GPUs.Devices)
	}
	return c
}

// linkWeight is what links between GPUs that are twice as good are worth, in thousandths of a GPU. All of it together is less than
// a twentieth of a GPU, so a task does not break up what popular tasks will need only to be wired better.
const linkWeight = 6

// linkScore is what the links are worth between the GPUs that a container would get which wants so many.
func linkScore(h *Host, gpus int) float64 {
	if gpus < 2 {
		return 0
	}
	mean := h.board.Score(h.idle, gpus) * 2 / (gpus * (gpus - 1))
	return float64(linkWeight * bits.Len(uint(mean)))
}

// share is a part in thousandths of the whole.
func share(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return part * 1000 / whole
}
