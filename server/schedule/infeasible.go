package schedule

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pinion/raftfsm/partition"
	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

// Infeasible reports whether the hosts could not run the tasks of the request even when empty. lack is the shortfall of the
// nearest host; it has no HostID when only all hosts together are too small for a gang. hosts must be those of the request's
// cluster. Temporary conditions do not count: a draining or disconnected host, an unhealthy GPU, a constraint on the tasks
// of a host.
//
// Of several alternatives all have to be impossible; lack has the details of each then.
func Infeasible(hosts []*spec.Host, r Request) (lack spec.Failure, impossible bool) {
	all := alternativesOf(r)
	lacks := make([]spec.Failure, len(all))
	for i, one := range all {
		if lacks[i], impossible = infeasible(hosts, one); !impossible {
			return spec.Failure{}, false
		}
	}
	return mergeRefusals(r, lacks), true
}

func infeasible(hosts []*spec.Host, r Request) (lack spec.Failure, impossible bool) {
	a := newEvaluation(r)
	if a.parse(nil) != nil {
		return spec.Failure{}, false
	}
	a.constraints = slices.DeleteFunc(a.constraints, (*query.Expr).ReadsTasks) // tasks come and go
	a.gpuConstraints.expressions = slices.DeleteFunc(a.gpuConstraints.expressions, (*query.Expr).ReadsTasks)
	if len(hosts) == 0 {
		return spec.Failure{Reason: spec.ReasonMissing, Detail: "the cluster has no host"}, true
	}
	var nearest, bound shortfalls
	room := 0
	for _, host := range hosts {
		missing, h, fits := bestVariant(a, host)
		if len(missing) == 0 {
			if room += fits; room >= r.Run.Count {
				return spec.Failure{}, false
			}
			bound = a.resourceShortfalls(h, fits)
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

// bestVariant is the host as it could have its GPUs partitioned that takes the most tasks when it is empty, or else is the nearest to that.
func bestVariant(a *evaluation, host *spec.Host) (missing shortfalls, best *Host, fits int) {
	for _, inventory := range partition.Variants(host.GPUs, host.Partitions) {
		record := host
		if host.GPUs.DynamicMIG {
			variant := *host
			variant.GPUs, record = inventory, &variant
		}
		h := &Host{Host: record, Connected: true, mig: hasMIG(record)}
		switch lacks := a.shortfallsOn(h); {
		case len(lacks) == 0:
			if n := a.emptySlots(h); best == nil || len(missing) > 0 || n > fits {
				missing, best, fits = nil, h, n
			}
		case best == nil || len(missing) > 0 && lacks.nearer(missing):
			missing, best = lacks, h
		}
	}
	return missing, best, fits
}

// shortfall is one resource or property that a host lacks for a task.
type shortfall struct {
	reason, detail string
	ratio          float64 // demand divided by the host's total; infinite when the host has none, or the shortfall is not an amount
}

// shortfalls lists everything that a host lacks for a task, in filter order.
type shortfalls []shortfall

// nearer reports whether a host with shortfalls s is nearer to the request than a host with shortfalls other: it has fewer,
// or as many and a smaller worst one.
func (s shortfalls) nearer(other shortfalls) bool {
	if len(s) != len(other) {
		return len(s) < len(other)
	}
	return s.worst() < other.worst()
}

func (s shortfalls) worst() (times float64) {
	for _, each := range s {
		times = max(times, each.ratio)
	}
	return times
}

func (s shortfalls) String() string {
	var details []string
	for _, each := range s {
		details = append(details, each.detail)
	}
	return strings.Join(details, "; ")
}

// shortfallsOn returns what the empty host lacks for one task of the request.
func (a *evaluation) shortfallsOn(h *Host) (missing shortfalls) {
	for _, refuses := range []filter{isolated, attributes} {
		if reason, detail := refuses(a, h); reason != "" {
			missing = append(missing, shortfall{reason, detail, math.Inf(1)})
		}
	}
	missing = append(missing, a.resourceShortfalls(h, 0)...)
	if reason, detail := memberOf(a, h); reason != "" {
		missing = append(missing, shortfall{reason, detail, math.Inf(1)})
	}
	return missing
}

// resourceShortfalls returns what the empty host lacks for one task of the request beside `others` tasks of it, which fit.
func (a *evaluation) resourceShortfalls(h *Host, others int) (missing shortfalls) {
	demand, only := a.demandOn(h), a.gpuConstraints.record(h)
	left := spec.CapacityOf(only).Subtract(demand, others)
	for lack := range left.Shortfalls(demand) {
		detail := lack.Detail()
		switch {
		case lack.Reason != spec.ReasonPorts:
			detail = fmt.Sprintf("%s, the host has %d%s%s", lack.Need(), lack.Has, a.gpuConstraints.ofEligible(lack, only, h.Host), gpuProblem(lack, h))
		case others > 0:
			detail = "each task needs its ports of a host of its own"
		}
		missing = append(missing, shortfall{lack.Reason, detail, float64(lack.Needs) / float64(max(0, lack.Has))})
	}
	if others > 0 && a.distinct {
		missing = append(missing, shortfall{spec.ReasonDistinct, "each task needs a host of its own", math.Inf(1)})
	}
	return missing
}

// emptySlots returns how many tasks of the request fit on the host when it is empty.
func (a *evaluation) emptySlots(h *Host) int {
	empty, demand := capacity{spec.CapacityOf(a.gpuConstraints.record(h)), -1}, a.demandOn(h)
	if a.distinct {
		empty.groupTasks = 0
	}
	return empty.slots(demand, a.Run.Count)
}
