package schedule

import (
	"slices"

	"pinion/raftfsm/spec"
)

// rankedHost is one host evaluated for a task: its cost when it is a candidate, its refusal otherwise.
type rankedHost struct {
	host    *Host
	refusal spec.Failure // Reason is empty when the host is a candidate
	cost    cost
}

// better reports whether o ranks above than: candidates come before refusals, and of two equals neither is better.
func (o *rankedHost) better(than *rankedHost) bool {
	if o.refusal.Reason != "" || than.refusal.Reason != "" {
		return o.refusal.Reason == "" && than.refusal.Reason != ""
	}
	return o.cost.compare(than.cost) < 0
}

// best returns the host for the next task by strategy, then cost, then host id; nil when no host is a candidate.
func (a *evaluation) best(options []rankedHost) *rankedHost {
	choices := make([]*rankedHost, 0, len(options))
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
	return slices.MinFunc(choices, func(a, b *rankedHost) int { return a.cost.compare(b.cost) })
}

// refusal runs the filters on the host's current state.
func (a *evaluation) refusal(h *Host, filters []filter) (refusal spec.Failure, refused bool) {
	for _, refuses := range filters {
		if reason, detail := refuses(a, h); reason != "" {
			return spec.Failure{HostID: h.Host.ID, Reason: reason, Detail: detail}, true
		}
	}
	return spec.Failure{}, false
}

// rank evaluates the host for the request in its current state.
func (a *evaluation) rank(h *Host, filters []filter) rankedHost {
	if refusal, refused := a.refusal(h, filters); refused {
		return rankedHost{host: h, refusal: refusal}
	}
	return rankedHost{host: h, cost: a.costOn(h)}
}

func (a *evaluation) rankAll(hosts []*Host, filters []filter) []rankedHost {
	options := make([]rankedHost, len(hosts))
	for i, host := range hosts {
		options[i] = a.rank(host, filters)
	}
	return options
}
