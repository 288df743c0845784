package schedule

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

// Impossible says whether the hosts could never run the tasks of the request as they are now, even with nothing else on them,
// and what they lack: the nearest of them, or without a HostID all of them together, when a gang is too large. They are those
// of the request's cluster. What may pass by itself does not count: a host that drains or is not heard of, a GPU that is
// sick, a constraint about the tasks of a host.
func Impossible(hosts []*spec.Host, r Request) (lack spec.Failure, impossible bool) {
	a := newAsk(r)
	if a.read(nil) != nil {
		return spec.Failure{}, false
	}
	if len(hosts) == 0 {
		return spec.Failure{Reason: spec.ReasonMissing, Detail: "the cluster has no host"}, true
	}
	var nearest, bound shortages
	room := 0
	for _, host := range hosts {
		h := &Host{Host: host, Connected: true}
		missing := a.shortagesOn(h)
		if len(missing) == 0 {
			fits := a.emptyRoom(h)
			if room += fits; room >= r.Run.Count {
				return spec.Failure{}, false
			}
			bound = a.shortagesBeside(h, fits)
		} else if nearest == nil || missing.nearer(nearest) {
			nearest, lack.HostID = missing, host.ID
		}
	}
	if room > 0 {
		detail := fmt.Sprintf("the %d tasks of the gang start together, and the hosts together have room for %d of them at most", r.Run.Count, room)
		return spec.Failure{Reason: bound[0].reason, Detail: detail}, true
	}
	lack.Reason, lack.Detail = nearest[0].reason, nearest.String()
	return lack, true
}

// shortage is one thing that a host lacks.
type shortage struct {
	reason, detail string
	times          float64 // what is needed of it, in what the host has of it; infinite where the host has none, or no amount says it
}

// shortages are all that a host lacks, in the order in which its refusals come.
type shortages []shortage

// nearer says whether a host that lacks s is nearer to the request than one that lacks other: it lacks fewer things, or the
// worst of them less.
func (s shortages) nearer(other shortages) bool {
	if len(s) != len(other) {
		return len(s) < len(other)
	}
	return s.worst() < other.worst()
}

func (s shortages) worst() (times float64) {
	for _, each := range s {
		times = max(times, each.times)
	}
	return times
}

func (s shortages) String() string {
	var details []string
	for _, each := range s {
		details = append(details, each.detail)
	}
	return strings.Join(details, "; ")
}

// shortagesOn is what the host lacks for one task of the request.
func (a *ask) shortagesOn(h *Host) (missing shortages) {
	for _, refuses := range []filter{attributes, isolated} {
		if reason, detail := refuses(a, h); reason != "" {
			missing = append(missing, shortage{reason, detail, math.Inf(1)})
		}
	}
	missing = append(missing, a.shortagesBeside(h, 0)...)
	lasting := *a
	lasting.members = slices.DeleteFunc(slices.Clone(a.members), (*query.Expr).ReadsTasks)
	if reason, detail := members(&lasting, h); reason != "" {
		missing = append(missing, shortage{reason, detail, math.Inf(1)})
	}
	return missing
}

// shortagesBeside is what the host lacks in amounts for one task of the request beside so many others of it.
func (a *ask) shortagesBeside(h *Host, others int) (missing shortages) {
	d, n := a.on(h), int64(others)
	add := func(reason string, needs, has int64, of, remark string) {
		if needs > has {
			detail := fmt.Sprintf("needs %d %s, the host has %d%s", needs, of, has, remark)
			missing = append(missing, shortage{reason, detail, float64(needs) / float64(max(0, has))})
		}
	}
	add(spec.ReasonCPU, d.CPU, h.Host.CPU-n*d.CPU, "CPU units", "")
	add(spec.ReasonMemory, d.MemoryMiB, h.Host.MemoryMiB-n*d.MemoryMiB, "MiB of memory", "")
	ports := spec.Demand{Ports: d.Ports, UDPPorts: d.UDPPorts}
	switch reason, detail := spec.Fits(spec.Free{Ports: takenPorts(h.Host)}, ports); {
	case reason != "":
		missing = append(missing, shortage{reason, detail, math.Inf(1)})
	case n > 0 && len(d.Ports)+len(d.UDPPorts) > 0:
		missing = append(missing, shortage{spec.ReasonPorts, "each task needs its ports of a host of its own", math.Inf(1)})
	}
	remark := ""
	if problem := h.Host.GPUs.Problem; problem != "" {
		remark = " (" + problem + ")"
	}
	gpus := int64(d.AllGPUs())
	add(spec.ReasonGPU, gpus, int64(len(h.Host.GPUs.Devices))-n*gpus, "GPUs", remark)
	if n > 0 && a.distinct {
		missing = append(missing, shortage{spec.ReasonDistinct, "each task needs a host of its own", math.Inf(1)})
	}
	return missing
}

// emptyRoom is how many tasks of the request the host has room for with nothing else on it.
func (a *ask) emptyRoom(h *Host) int {
	m := amounts{cpu: h.Host.CPU, memory: h.Host.MemoryMiB, gpus: len(h.Host.GPUs.Devices), ports: takenPorts(h.Host), apart: -1}
	if a.distinct {
		m.apart = 0
	}
	return m.room(a.on(h), a.Run.Count)
}

func takenPorts(h *spec.Host) map[int]bool {
	taken := make(map[int]bool, len(h.Ports))
	for _, port := range h.Ports {
		taken[port] = true
	}
	return taken
}
