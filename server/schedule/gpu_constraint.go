package schedule

import (
	"slices"
	"strings"

	"pinion/gpu"
	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

// gpuConstraints are placement constraints that compare attributes of a GPU. They select the GPUs of a host that a task may get. memberOf refuses a
// host with none.
type gpuConstraints []*query.Expr

// refuse reports whether no GPU of the host meets the constraints.
func (c gpuConstraints) refuse(h *Host) bool { return len(c) > 0 && len(c.eligible(h)) == 0 }

// record is the host's record with only the eligible GPUs; that of the host itself when all or none are eligible.
func (c gpuConstraints) record(h *Host) *spec.Host {
	if len(c) == 0 {
		return h.Host
	}
	meet := c.eligible(h)
	if len(meet) == 0 || len(meet) == len(h.Host.GPUs.Devices) {
		return h.Host
	}
	only := *h.Host
	only.GPUs.Devices = meet
	return &only
}

// restrict returns a copy of the host with only the eligible GPUs; the host itself when all or none are eligible. It is for reading only: no task
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

// eligible are the GPUs of the host that meet the constraints on GPUs, healthy or not.
func (c gpuConstraints) eligible(h *Host) (meet []gpu.Device) {
	devices := h.Host.GPUs.Devices
	last := -1 // the device that was evaluated last
	meets := false
	for i := range devices {
		if last < 0 || !devices[i].SameAttributes(&devices[last]) {
			meets, last = c.unmet(h, &devices[i]) == nil, i
		}
		if meets {
			meet = append(meet, devices[i])
		}
	}
	return meet
}

// unmet is the first constraint on GPUs that the GPU of the host does not meet; nil: it meets all.
func (c gpuConstraints) unmet(h *Host, device *gpu.Device) *query.Expr {
	at := slices.IndexFunc(c, func(e *query.Expr) bool { return !e.Match(h.facts(e, device)) })
	if at < 0 {
		return nil
	}
	return c[at]
}

// why says which constraints the GPUs of the host do not meet, each kind of GPU once.
func (c gpuConstraints) why(h *Host) string {
	if len(h.Host.GPUs.Devices) == 0 {
		return "the host has no GPU"
	}
	var reasons []string
	for i := range h.Host.GPUs.Devices {
		device := &h.Host.GPUs.Devices[i]
		if e := c.unmet(h, device); e != nil {
			if why := e.Why(h.facts(e, device)); !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
		}
	}
	return "no GPU of the host meets the constraints: " + strings.Join(reasons, "; ")
}

// facts are those of the host that the expression compares, and of one of its GPUs or none.
func (h *Host) facts(e *query.Expr, device *gpu.Device) query.HostFacts {
	facts := query.HostFacts{Host: h.Host, Connected: h.Connected, GPU: device}
	if e.ReadsTasks() {
		facts.Tasks = h.tasks
	}
	return facts
}
