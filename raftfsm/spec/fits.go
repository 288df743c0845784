package spec

import (
	"math"
	"slices"
	"strconv"

	"pinion/gpu"
	"pinion/raftfsm/hostport"
)

// Free is the free capacity of a host. It is always derived from the host and its tasks, never stored. A copy is independent:
// what Take does to one is not seen in the other.
type Free struct {
	CPU       int64
	MemoryMiB int64
	Ports     hostport.Set // TCP host ports that are taken
	UDPPorts  hostport.Set // the same of UDP
	GPUs      []string     // UUIDs of healthy devices nobody holds, by device index

	allocations gpu.Allocations // of all devices; nil on a host that shares none
}

// Allocations are those of the host's GPUs, nil on a host that shares none. They are not to be changed.
func (f *Free) Allocations() gpu.Allocations { return f.allocations }

// NewFree derives what the tasks of a host leave of it. STOPPED tasks hold nothing; a lost host has nothing left.
func NewFree(h *Host, tasks []*Task) Free {
	if h.Lost() {
		return Free{}
	}
	gpus := h.Partitions.Hide(h.GPUs)
	free := Free{CPU: h.CPU, MemoryMiB: h.MemoryMiB, GPUs: gpus.Healthy()}
	free.Ports.Add(h.Ports)
	if h.SharesGPUs() || slices.ContainsFunc(tasks, (*Task).SharesGPU) {
		free.allocations = gpu.NewAllocations(gpus.Devices, h.SharesGPUs(), false)
	}
	for _, task := range tasks {
		if task.LastStatus != Stopped {
			free.Subtract(task)
		}
	}
	return free
}

// OnlyGPUs returns the free capacity as it is when these are the host's only GPUs.
func (f *Free) OnlyGPUs(devices []gpu.Device) Free {
	other := func(uuid string) bool {
		return !slices.ContainsFunc(devices, func(d gpu.Device) bool { return d.UUID == uuid })
	}
	only := *f
	only.GPUs = slices.DeleteFunc(slices.Clone(f.GPUs), other)
	only.allocations = slices.DeleteFunc(f.allocations.Clone(), func(a gpu.Allocation) bool { return other(a.UUID) })
	return only
}

// Take gives what the task holds to it. Ask FitsTask first.
func (f *Free) Take(t *Task) {
	f.Ports, f.UDPPorts = f.Ports.Clone(t.Ports), f.UDPPorts.Clone(t.UDPPorts)
	f.GPUs, f.allocations = slices.Clone(f.GPUs), f.allocations.Clone()
	f.Subtract(t)
}

// TakePorts takes TCP ports off in place, which no task may have. Only the owner of f may.
func (f *Free) TakePorts(ports []int) { f.Ports.Add(ports) }

// Subtract takes what the task holds off in place. Only the owner of f may: copies share its ports and GPUs, see Take.
func (f *Free) Subtract(t *Task) {
	f.CPU -= t.CPU
	f.MemoryMiB -= t.MemoryMiB
	f.Ports.Add(t.Ports)
	f.UDPPorts.Add(t.UDPPorts)
	for i := range t.Containers {
		for _, held := range t.Containers[i].GPUs {
			if at := slices.Index(f.GPUs, held); at >= 0 {
				f.GPUs = slices.Delete(f.GPUs, at, at+1)
			}
			take(f.allocations.Find(held), t.Containers[i].Share)
		}
	}
}

// take gives a GPU to a container that holds it, or the share of it; nil allocations are of GPUs that are not there.
func take(allocation *gpu.Allocation, share *GPUShare) {
	switch {
	case allocation == nil:
	case share == nil:
		allocation.AllocateWhole()
	default:
		allocation.AllocateShare(share.MemoryMiB)
	}
}

// Demand is the resources that a task takes of its host.
type Demand struct {
	CPU       int64 // units
	MemoryMiB int64
	Ports     []int // TCP host ports
	UDPPorts  []int
	GPUs      []int   // whole GPUs wanted, per container of the definition
	Shares    []int64 // MiB wanted of one GPU that all containers share, per container; nil when none wants any
}

// allGPUs in Demand.GPUs is all that the host has; see Demand.ForHost.
const allGPUs = -1

// ForHost returns the demand, on a host with so many GPUs, of a definition that wants every GPU of its host; other definitions want
// the same everywhere. A host without GPUs has none to give: the task wants one there, in vain.
func (d Demand) ForHost(gpus int) Demand {
	if !slices.Contains(d.GPUs, allGPUs) {
		return d
	}
	d.GPUs = slices.Clone(d.GPUs)
	for i, wanted := range d.GPUs {
		if wanted == allGPUs {
			d.GPUs[i] = max(1, gpus)
		}
	}
	return d
}

// WantsAllGPUs says whether it wants every GPU of its host, however many these are.
func (d Demand) WantsAllGPUs() bool { return slices.Contains(d.GPUs, allGPUs) }

// TotalGPUs is the number of GPUs that the whole task takes. A demand that wants every GPU of its host wants more than any
// host has until On says which host.
func (d Demand) TotalGPUs() int {
	all := 0
	for _, n := range d.GPUs {
		if n == allGPUs {
			return unparsableGPUs
		}
		all += n
	}
	return all
}

// ShareMiB is the memory of one GPU that the whole task shares; 0: none.
func (d Demand) ShareMiB() (sum int64) {
	for _, mib := range d.Shares {
		sum = saturatingAdd(sum, mib)
	}
	return sum
}

// Amounts that cannot be read as a number become these: such a task never fits, and the refusal shows the amount.
const (
	unparsable     = math.MaxInt64
	unparsableGPUs = math.MaxInt32
)

// DemandOf returns the demand of a task of an effective definition: CPU and memory at task level before the sum of the
// containers, memoryReservation before memory.
func DemandOf(d *TaskDefinition) Demand {
	var demand Demand
	for i := range d.Containers {
		container := &d.Containers[i]
		demand.CPU = saturatingAdd(demand.CPU, container.CPU)
		demand.MemoryMiB = saturatingAdd(demand.MemoryMiB, container.reservedMiB())
		demand.GPUs = append(demand.GPUs, container.gpus())
		demand.addShare(i, container.share())
		if d.NetworkMode != "none" && !d.HasOwnAddress() {
			demand.addPorts(container, d.NetworkMode == "host")
		}
	}
	if d.CPU != "" {
		demand.CPU = parseAmount(d.CPU)
	}
	if d.Memory != "" {
		demand.MemoryMiB = parseAmount(d.Memory)
	}
	return demand
}

// addShare adds the share that the container at index i asks for. One without an amount never fits.
func (d *Demand) addShare(i int, share *NvidiaMPS) {
	if share == nil {
		return
	}
	d.Shares = append(d.Shares, make([]int64, i+1-len(d.Shares))...)
	if d.Shares[i] = share.Memory; share.Memory <= 0 {
		d.Shares[i] = unparsable
	}
}

// saturatingAdd stays at the top instead of running over into what would fit anywhere.
func saturatingAdd(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func parseAmount(decimal string) int64 {
	n, err := strconv.ParseInt(decimal, 10, 64)
	if err != nil || n < 0 {
		return unparsable
	}
	return n
}

func (c *ContainerDefinition) reservedMiB() int64 {
	if c.MemoryReservation > 0 {
		return c.MemoryReservation
	}
	return c.Memory
}

// gpus is the number of whole GPUs of the container. A part of a GPU counts as none.
func (c *ContainerDefinition) gpus() int {
	if c.wantsAllGPUs() {
		return allGPUs
	}
	wanted := 0
	for _, requirement := range c.ResourceRequirements {
		if requirement.Type == requirementGPU && requirement.SharingStrategy == nil {
			wanted += int(min(parseAmount(requirement.Value), unparsableGPUs))
		}
	}
	return wanted
}

// addPorts adds the container's fixed ports; in the host's own network every container port is one.
func (d *Demand) addPorts(c *ContainerDefinition, hostNetwork bool) {
	for _, mapping := range c.PortMappings {
		port := mapping.HostPort
		if hostNetwork {
			port = mapping.ContainerPort
		}
		switch {
		case port == 0:
		case mapping.Protocol == "udp":
			d.UDPPorts = append(d.UDPPorts, port)
		default:
			d.Ports = append(d.Ports, port)
		}
	}
}

// DemandOfTask returns the demand of a placed task, whatever became of its definition.
func DemandOfTask(t *Task) Demand {
	held := Demand{CPU: t.CPU, MemoryMiB: t.MemoryMiB, Ports: t.Ports, UDPPorts: t.UDPPorts}
	for i := range t.Containers {
		if share := t.Containers[i].Share; share != nil {
			held.GPUs = append(held.GPUs, 0)
			held.addShare(i, &NvidiaMPS{Memory: share.MemoryMiB})
		} else {
			held.GPUs = append(held.GPUs, len(t.Containers[i].GPUs))
		}
	}
	return held
}

// Fits is the one answer to "does it fit": the planner and apply both ask it. It returns the first shortfall when it does not.
func Fits(f *Free, d *Demand) (lack Shortfall, fits bool) {
	free := f.Capacity()
	return free.Fits(d)
}

// FitsTask asks Fits for a task that names its GPUs already: each of them has to be free, and to be named once; of a GPU that it
// shares the share has to be. The detail says for people what is missing.
func FitsTask(f *Free, t *Task) (detail string, fits bool) {
	named := t.wholeGPUs()
	held := Demand{CPU: t.CPU, MemoryMiB: t.MemoryMiB, Ports: t.Ports, UDPPorts: t.UDPPorts, GPUs: []int{len(named)}}
	if lack, fits := Fits(f, &held); !fits {
		return lack.Detail(), false
	}
	for i, uuid := range named {
		if !slices.Contains(f.GPUs, uuid) || slices.Contains(named[:i], uuid) {
			return uuid + " is not free", false
		}
	}
	detail = f.fitsShares(t)
	return detail, detail == ""
}
