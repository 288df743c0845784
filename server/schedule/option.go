package schedule

import (
	"cmp"
	"slices"

	"pinion/raftfsm"
)

// option is one host for a task: how good it is, or why it is none.
type option struct {
	host    *Host
	refusal raftfsm.Failure // Reason is empty while the host is a choice
	cost    cost
}

// cost orders the hosts that could run a task, the lowest is the best. GPUs that stay free on a used host are the
// ones that big tasks will miss, so GPU tasks fill hosts up, and tasks without GPUs keep away from free ones.
type cost struct {
	gpusLeft int   // free GPUs when the task is there
	gpus     int   // GPUs of the host, for tasks that want none: better a host that never has any
	room     int64 // CPU and memory left, in thousandths of the host's
}

func (c cost) compare(other cost) int {
	return cmp.Or(cmp.Compare(c.gpusLeft, other.gpusLeft), cmp.Compare(c.gpus, other.gpus),
		cmp.Compare(c.room, other.room))
}

// best is the host for the next task; nil when no host is a choice. The strategy decides, then the cost, then the
// host id.
func (a *ask) best(options []option) *option {
	choices := make([]*option, 0, len(options))
	for i := range options {
		if options[i].refusal.Reason == "" {
			choices = append(choices, &options[i])
		}
	}
	for _, s := range a.strategy {
		choices = lowest(choices, s)
	}
	if len(choices) == 0 {
		return nil
	}
	return slices.MinFunc(choices, func(a, b *option) int { return a.cost.compare(b.cost) })
}

// consider asks the filters about the host as it is now.
func (a *ask) consider(h *Host, filters []filter) option {
	for _, refuses := range filters {
		if reason, detail := refuses(a, h); reason != "" {
			return option{host: h, refusal: raftfsm.Failure{HostID: h.Host.ID, Reason: reason, Detail: detail}}
		}
	}
	return option{host: h, cost: a.costOn(h)}
}

func (a *ask) costOn(h *Host) cost {
	owned, wanted := 0, a.on(h).AllGPUs()
	if wanted == 0 {
		owned = len(h.Host.GPUs.Devices)
	}
	return cost{
		gpusLeft: len(h.Free.GPUs) - wanted,
		gpus:     owned,
		room: share(h.Free.CPU-a.demand.CPU, h.Host.CPU) +
			share(h.Free.MemoryMiB-a.demand.MemoryMiB, h.Host.MemoryMiB),
	}
}

// share is a part in thousandths of the whole.
func share(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return part * 1000 / whole
}
