package schedule

import (
	"fmt"
	"slices"
	"strings"

	"pinion/gpu"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

// gpuConstraints select the GPUs of a host that a task may get. memberOf refuses a host with none.
type gpuConstraints struct {
	expressions []*query.Expr // placement constraints that compare attributes of a GPU
	wholeOnly   bool          // MIG devices are for tasks that ask for a profile
}

// AsksForMIG reports whether the request is for MIG devices: one of its constraints compares their profile. Others get whole GPUs alone.
func AsksForMIG(r Request) bool {
	comparesProfile := func(c spec.PlacementConstraint) bool {
		return c.Type == spec.MemberOf && gpu.AsksForMIG(c.Expression)
	}
	return slices.ContainsFunc(r.Definition.PlacementConstraints, comparesProfile) || slices.ContainsFunc(r.Run.Constraints, comparesProfile)
}

// selects reports whether some GPUs of the host may not be eligible.
func (c gpuConstraints) selects(h *Host) bool { return len(c.expressions) > 0 || c.wholeOnly && h.mig }

// refuse reports whether no GPU of the host meets the constraints.
func (c gpuConstraints) refuse(h *Host) bool { return c.selects(h) && len(c.eligible(h)) == 0 }

// refusal is the reason of ECS for a host that refuse refuses.
func (c gpuConstraints) refusal() string {
	if len(c.expressions) == 0 {
		return spec.ReasonGPU
	}
	return spec.ReasonConstraint
}

// record is the host's record with only the eligible GPUs; that of the host itself when all are.
func (c gpuConstraints) record(h *Host) *spec.Host {
	if !c.selects(h) {
		return h.Host
	}
	meet := c.eligible(h)
	if len(meet) == len(h.Host.GPUs.Devices) {
		return h.Host
	}
	only := *h.Host
	only.GPUs.Devices = meet
	return &only
}

// restrict returns a copy of the host with only the eligible GPUs; the host itself when all are. It is for reading only: no task
// is assumed or released on it.
func (c gpuConstraints) restrict(h *Host) *Host {
	record := c.record(h)
	if record == h.Host {
		return h
	}
	only := *h
	only.Host, only.Free = record, h.Free.OnlyGPUs(record.GPUs.Devices)
	only.idle &= h.gpus.HealthySet(only.Free.GPUs)
	return &only
}

// ofKind is restrict for a host with MIG devices, which are not what common tasks use; other hosts are as they are.
func (c gpuConstraints) ofKind(h *Host) *Host {
	if !h.mig {
		return h
	}
	return c.restrict(h)
}

// eligible are the GPUs of the host that meet the constraints on GPUs, healthy or not.
func (c gpuConstraints) eligible(h *Host) (meet []gpu.Device) {
	devices := h.Host.GPUs.Devices
	last := -1 // the device that was evaluated last
	meets := false
	for i := range devices {
		if last < 0 || !devices[i].SameAttributes(&devices[last]) {
			meets, last = !c.withholds(&devices[i]) && c.unmet(h, &devices[i]) == nil, i
		}
		if meets {
			meet = append(meet, devices[i])
		}
	}
	return meet
}

// withholds reports whether the device is a MIG device and the task has not asked for one.
func (c gpuConstraints) withholds(device *gpu.Device) bool {
	return c.wholeOnly && device.MIGDevice != nil
}

// unmet is the first constraint on GPUs that the GPU of the host does not meet; nil: it meets all.
func (c gpuConstraints) unmet(h *Host, device *gpu.Device) *query.Expr {
	at := slices.IndexFunc(c.expressions, func(e *query.Expr) bool { return !e.Match(h.facts(e, device)) })
	if at < 0 {
		return nil
	}
	return c.expressions[at]
}

// why says which constraints the GPUs of the host do not meet, each kind of GPU once.
func (c gpuConstraints) why(h *Host) string {
	if len(h.Host.GPUs.Devices) == 0 {
		return "the host has no GPU"
	}
	var reasons []string
	for i := range h.Host.GPUs.Devices {
		device, why := &h.Host.GPUs.Devices[i], ""
		if c.withholds(device) {
			why = "MIG devices are for tasks that ask for a profile (attribute:" + gpu.AttributeMIGProfile + ")"
		} else if e := c.unmet(h, device); e != nil {
			why = e.Why(h.facts(e, device))
		}
		if why != "" && !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	if c.refusal() == spec.ReasonGPU {
		return "the host has no whole GPU: " + strings.Join(reasons, "; ")
	}
	return "no GPU of the host meets the constraints: " + strings.Join(reasons, "; ")
}

// ofEligible adds to a shortfall of GPUs that only some of the host's are counted.
func (c gpuConstraints) ofEligible(lack spec.Shortfall, only, whole *spec.Host) string {
	switch {
	case lack.Reason != spec.ReasonGPU || only == whole:
		return ""
	case len(c.expressions) == 0:
		return fmt.Sprintf(" of the %d that are whole", len(only.GPUs.Devices))
	}
	return fmt.Sprintf(" of the %d that meet the constraints", len(only.GPUs.Devices))
}

// hasMIG reports whether the host has MIG devices.
func hasMIG(h *spec.Host) bool {
	return slices.ContainsFunc(h.GPUs.Devices, func(d gpu.Device) bool { return d.MIGDevice != nil })
}

// MIGMilli is what a task of the request counts for before it has a place, in thousandths of a GPU: by the smallest MIG devices of the hosts that it may
// get. False: it asks for no MIG device, or there is none.
func MIGMilli(hosts []*spec.Host, r Request) (milli int, asks bool) {
	a := newEvaluation(r)
	if a.demand.TotalGPUs() == 0 || a.wantsAllGPUs || a.gpuConstraints.wholeOnly || a.parse(nil) != nil {
		return 0, false
	}
	smallest := 0
	for _, host := range hosts {
		for _, device := range a.gpuConstraints.eligible(&Host{Host: host, Connected: true}) {
			if own := milliOf(&device); smallest == 0 || own < smallest {
				smallest = own
			}
		}
	}
	return smallest * a.demand.TotalGPUs(), smallest > 0
}

// milliOf is what a device counts for, in thousandths of a GPU.
func milliOf(device *gpu.Device) int {
	if device.MIGDevice == nil {
		return gpuuse.Milli
	}
	return gpuuse.MilliOf(device.MemoryMiB, device.MIGDevice.ParentMemoryMiB)
}

// facts are those of the host that the expression compares, and of one of its GPUs or none.
func (h *Host) facts(e *query.Expr, device *gpu.Device) query.HostFacts {
	facts := query.HostFacts{Host: h.Host, Connected: h.Connected, GPU: device}
	if e.ReadsTasks() {
		facts.Tasks = h.tasks
	}
	return facts
}
