package spec

import (
	"iter"
	"math"
	"strconv"
	"strings"

	"pinion/gpu"
	"pinion/raftfsm/hostport"
)

// Capacity is an amount of a host's resources: all that the host has, or what is free now or when some tasks have ended. It
// is the one place that computes with amounts: whether a demand fits, how often, and what is missing when it does not. It
// counts GPUs; Free names them. A copy is independent of its original.
type Capacity struct {
	CPU       int64 // units
	MemoryMiB int64
	GPUs      int          // that are idle
	Ports     hostport.Set // TCP host ports that are taken; shared between copies, so no method writes to it
	UDPPorts  hostport.Set

	allocations gpu.Allocations // as Free has them; shared between copies, so no method writes to it
}

// CapacityOf returns the capacity of the host when no task runs on it. GPUs that are unhealthy at the moment count.
func CapacityOf(h *Host) Capacity {
	c := Capacity{CPU: h.CPU, MemoryMiB: h.MemoryMiB, GPUs: len(h.GPUs.Devices)}
	c.Ports.Add(h.Ports)
	if h.SharesGPUs() {
		c.allocations = gpu.NewAllocations(h.GPUs.Devices, true, true)
	}
	return c
}

// Capacity is the amounts of what is free.
func (f *Free) Capacity() Capacity {
	return Capacity{f.CPU, f.MemoryMiB, len(f.GPUs), f.Ports, f.UDPPorts, f.allocations}
}

// Slots returns how many times the demand fits, at most limit. A demand with host ports fits once at most.
func (c *Capacity) Slots(d *Demand, limit int) int {
	if len(d.Ports)+len(d.UDPPorts) > 0 {
		if _, taken := c.Ports.Conflict(d.Ports); taken {
			return 0
		}
		if _, taken := c.UDPPorts.Conflict(d.UDPPorts); taken {
			return 0
		}
		limit = min(limit, 1)
	}
	slots := quotient(c.CPU, d.CPU, int64(limit))
	slots = quotient(c.MemoryMiB, d.MemoryMiB, slots)
	slots = quotient(int64(c.GPUs), int64(d.TotalGPUs()), slots)
	if share := d.ShareMiB(); share > 0 {
		slots = int64(c.allocations.Shares(share, int(slots)))
	}
	return int(slots)
}

// quotient returns how many times a part is in an amount, at most limit. A part below zero is in none, zero is in any amount.
func quotient(amount, part, limit int64) int64 {
	switch {
	case part < 0 || part > amount || limit <= 0:
		return 0
	case part == 0 || limit == 1:
		return limit
	}
	return min(limit, amount/part)
}

// Fits says whether the demand fits once, and if not the first shortfall.
func (c *Capacity) Fits(d *Demand) (lack Shortfall, fits bool) {
	if c.Slots(d, 1) == 1 {
		return Shortfall{}, true
	}
	for lack = range c.Shortfalls(d) {
		break
	}
	return lack, false
}

// portsBefore is the place of ports among the amounts of Shortfalls.
const portsBefore = 2

// Shortfalls yields everything that is missing for the demand in ECS's order: CPU, memory, ports, GPUs. It yields nothing
// when the demand fits.
func (c *Capacity) Shortfalls(d *Demand) iter.Seq[Shortfall] {
	return func(yield func(Shortfall) bool) {
		gpus := int64(d.TotalGPUs())
		amounts := [...]Shortfall{
			{Reason: ReasonCPU, Needs: d.CPU, Has: c.CPU, unit: "CPU units"},
			{Reason: ReasonMemory, Needs: d.MemoryMiB, Has: c.MemoryMiB, unit: "MiB of memory"},
			{Reason: ReasonGPU, Needs: gpus, Has: int64(c.GPUs), unit: "GPUs"},
			{Reason: ReasonGPU, Needs: d.ShareMiB(), Has: c.allocations.LargestShareMiB(), unit: "MiB of memory on one GPU that is shared"},
		}
		for i, lack := range amounts {
			if i == portsBefore && !c.yieldPorts(d, yield) {
				return
			}
			if quotient(lack.Has, lack.Needs, 1) == 0 && !yield(amounts[i]) {
				return
			}
		}
	}
}

func (c *Capacity) yieldPorts(d *Demand, yield func(Shortfall) bool) (more bool) {
	if port, taken := c.Ports.Conflict(d.Ports); taken && !yield(Shortfall{Reason: ReasonPorts, Needs: 1, port: port}) {
		return false
	}
	port, taken := c.UDPPorts.Conflict(d.UDPPorts)
	return !taken || yield(Shortfall{Reason: ReasonPorts, Needs: 1, port: port, unit: udp})
}

// Subtract returns what is left when n tasks of the demand run, which must fit.
func (c Capacity) Subtract(d *Demand, n int) Capacity {
	if n == 0 {
		return c
	}
	c.CPU -= int64(n) * d.CPU
	c.MemoryMiB -= int64(n) * d.MemoryMiB
	c.GPUs -= n * d.TotalGPUs()
	if share := d.ShareMiB(); share > 0 {
		c.allocations = c.allocations.Clone()
		c.GPUs -= c.allocations.TakeShares(share, n)
	}
	c.Ports, c.UDPPorts = c.Ports.With(d.Ports), c.UDPPorts.With(d.UDPPorts)
	return c
}

// Add returns what is there when a task of the host has ended. Its unhealthy GPUs stay unavailable.
func (c Capacity) Add(h *Host, t *Task) Capacity {
	c.CPU += t.CPU
	c.MemoryMiB += t.MemoryMiB
	for i := range t.Containers {
		for _, uuid := range t.Containers[i].GPUs {
			if device, known := h.GPUs.Device(uuid); known && device.Health == gpu.Healthy && t.Containers[i].Share == nil {
				c.GPUs++
			}
		}
	}
	c.returnGPUs(t)
	c.Ports, c.UDPPorts = c.Ports.Without(t.Ports), c.UDPPorts.Without(t.UDPPorts)
	return c
}

// returnGPUs ends what the task holds in the allocations. A GPU that is idle with its last share counts as one from then on.
func (c *Capacity) returnGPUs(t *Task) {
	if c.allocations == nil {
		return
	}
	c.allocations = c.allocations.Clone()
	for i := range t.Containers {
		for _, uuid := range t.Containers[i].GPUs {
			allocation, share := c.allocations.Find(uuid), t.Containers[i].Share
			switch {
			case allocation == nil:
			case share == nil:
				allocation.ReleaseWhole()
			default:
				allocation.ReleaseShare(share.MemoryMiB)
				if allocation.Idle() {
					c.GPUs++
				}
			}
		}
	}
}

// Hold returns which part of c has to stay free now so that n tasks of the demand fit when the capacity is later, which is c
// and what tasks that end until then release.
func (c *Capacity) Hold(d *Demand, n int, later *Capacity) Demand {
	part := func(free, each, then int64) int64 { return min(max(0, free), max(0, int64(n)*each-(then-free))) }
	return Demand{
		CPU:       part(c.CPU, d.CPU, later.CPU),
		MemoryMiB: part(c.MemoryMiB, d.MemoryMiB, later.MemoryMiB),
		Ports:     c.Ports.Free(d.Ports),
		UDPPorts:  c.UDPPorts.Free(d.UDPPorts),
		GPUs:      []int{int(part(int64(c.GPUs), int64(d.TotalGPUs()), int64(later.GPUs)))},
		Shares:    c.holdShares(d.ShareMiB(), n, later),
	}
}

// holdShares are the shares of that size that have to stay free now so that n of them are there later: one for each.
func (c *Capacity) holdShares(mib int64, n int, later *Capacity) (held []int64) {
	if mib == 0 {
		return nil
	}
	free, then := c.allocations.Shares(mib, math.MaxInt32), later.allocations.Shares(mib, math.MaxInt32)
	for range min(n, free, free-(then-n)) {
		held = append(held, mib)
	}
	return held
}

// Shortfall is a resource of which a host has less than a demand needs.
type Shortfall struct {
	Reason     string // ECS's, such as RESOURCE:GPU
	Needs, Has int64  // amounts; 1 and 0 for a port
	port       int    // that is taken, or wanted twice
	unit       string // of the amounts, in the plural; of a port: udp, or nothing
}

// udp is the unit of a shortfall that is a UDP port.
const udp = "UDP"

// Detail says for people what is missing, in the words of ECS's failures.
func (s Shortfall) Detail() string {
	if s.Reason != ReasonPorts {
		return s.Need() + ", " + strconv.FormatInt(s.Has, 10) + " free"
	}
	return strings.TrimSpace(s.unit+" host port") + " " + strconv.Itoa(s.port) + " is taken"
}

// Need says for people what is needed, without what there is.
func (s Shortfall) Need() string {
	unit := s.unit
	if s.Needs == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return "needs " + strconv.FormatInt(s.Needs, 10) + " " + unit
}
