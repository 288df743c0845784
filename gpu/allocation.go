package gpu

import (
	"cmp"
	"slices"
)

// Mode is the sharing mode of a GPU, in ECS's words.
type Mode string

// The modes of a GPU.
const (
	ModeIdle      Mode = "IDLE"       // nobody has it
	ModeDedicated Mode = "DEDICATED"  // one container has all of it
	ModeMPS       Mode = "NVIDIA_MPS" // containers have shares of its memory, by NVIDIA's Multi-Process Service
)

// Allocation records the containers that hold one GPU. Its mode is one field that only the methods change, so a GPU is never
// given as a whole and in shares, and gives at most its memory. A copy is independent.
type Allocation struct {
	UUID     string
	TotalMiB int64 // of its memory

	offered    bool // to new containers; see Allocations
	shares     bool // it may be shared, of which the sick GPU and the host decide
	mode       Mode // "" is ModeIdle
	givenMiB   int64
	containers int
}

// Mode is the present sharing mode of the GPU.
func (a *Allocation) Mode() Mode { return cmp.Or(a.mode, ModeIdle) }

// RemainingMiB is the memory that is given to nobody: none of a GPU that a container has as a whole.
func (a *Allocation) RemainingMiB() int64 {
	if a.mode == ModeDedicated {
		return 0
	}
	return max(0, a.TotalMiB-a.givenMiB)
}

// Containers is the number of containers that hold the GPU or a share of it.
func (a *Allocation) Containers() int { return a.containers }

// Idle reports whether the GPU is free to be given as a whole.
func (a *Allocation) Idle() bool { return a.offered && a.mode == "" }

// Shares is the number of shares of that size that the GPU has left, at most limit.
func (a *Allocation) Shares(mib int64, limit int) int {
	if !a.offered || !a.shares || mib <= 0 || a.mode == ModeDedicated {
		return 0
	}
	return int(min(int64(limit), a.RemainingMiB()/mib))
}

// AllocateWhole gives the whole GPU to a container. Only an idle one can be given; false: it is not, and nothing changes.
func (a *Allocation) AllocateWhole() bool {
	if a.mode != "" {
		return false
	}
	a.mode, a.containers = ModeDedicated, 1
	return true
}

// AllocateShare gives a share of the memory to a container. Ask Shares first whether the GPU offers one: a share that a container has
// already is recorded even on a GPU that offers none any more. False: the whole GPU is given, and nothing changes.
func (a *Allocation) AllocateShare(mib int64) bool {
	if a.mode == ModeDedicated {
		return false
	}
	a.mode = ModeMPS
	a.givenMiB += mib
	a.containers++
	return true
}

// ReleaseWhole ends AllocateWhole.
func (a *Allocation) ReleaseWhole() {
	if a.mode == ModeDedicated {
		a.mode, a.containers = "", 0
	}
}

// ReleaseShare ends one AllocateShare of that size. With its last share the GPU is idle.
func (a *Allocation) ReleaseShare(mib int64) {
	if a.mode != ModeMPS {
		return
	}
	a.givenMiB -= mib
	if a.containers--; a.containers == 0 {
		a.mode, a.givenMiB = "", 0
	}
}

// Allocations are those of the GPUs of one host, by index.
type Allocations []Allocation

// NewAllocations are the allocations of devices that nobody has. shares says that the host keeps containers to their shares: without
// it none is offered. A device that is sick is offered to nobody, unless sick says so; a MIG device, and one without memory of
// its own, is not shared.
func NewAllocations(devices []Device, shares, sick bool) Allocations {
	all := make(Allocations, 0, len(devices))
	for _, d := range ordered(devices, len(devices)) {
		all = append(all, Allocation{
			UUID: d.UUID, TotalMiB: d.MemoryMiB,
			offered: sick || d.Health == Healthy, shares: shares && d.MemoryMiB > 0 && d.MIGDevice == nil,
		})
	}
	return all
}

// Find returns the allocation of a GPU; nil when the host does not have it.
func (a Allocations) Find(uuid string) *Allocation {
	for i := range a {
		if a[i].UUID == uuid {
			return &a[i]
		}
	}
	return nil
}

// Clone is a copy that is independent.
func (a Allocations) Clone() Allocations { return slices.Clone(a) }

// Idle is the number of GPUs that are free to be given as a whole.
func (a Allocations) Idle() (n int) {
	for i := range a {
		if a[i].Idle() {
			n++
		}
	}
	return n
}

// Shares is the number of shares of that size that the GPUs have left, at most limit.
func (a Allocations) Shares(mib int64, limit int) (n int) {
	for i := range a {
		if n += a[i].Shares(mib, limit-n); n >= limit {
			break
		}
	}
	return n
}

// LargestShareMiB is the size of the largest share that one of the GPUs offers.
func (a Allocations) LargestShareMiB() (largest int64) {
	for i := range a {
		if a[i].Shares(1, 1) > 0 {
			largest = max(largest, a[i].RemainingMiB())
		}
	}
	return largest
}

// MostAllocated is the shared GPU with the least memory left on which a share of that size fits, the first among equals; nil when it
// fits on none, idle ones aside.
func (a Allocations) MostAllocated(mib int64) (best *Allocation) {
	for i := range a {
		at := &a[i]
		if at.mode == ModeMPS && at.Shares(mib, 1) > 0 && (best == nil || at.RemainingMiB() < best.RemainingMiB()) {
			best = at
		}
	}
	return best
}

// TakeShares gives n shares of that size, each of the fullest shared GPU on which it fits or else of an idle one, and says how many
// GPUs were idle before.
func (a Allocations) TakeShares(mib int64, n int) (opened int) {
	for range n {
		at := a.MostAllocated(mib)
		for i := 0; at == nil && i < len(a); i++ {
			if a[i].Shares(mib, 1) > 0 {
				at, opened = &a[i], opened+1
			}
		}
		if at == nil {
			break
		}
		at.AllocateShare(mib)
	}
	return opened
}
