package schedule

import (
	"slices"

	"pinion/raftfsm/spec"
)

// rankedHost is one host for a task: how good it is, or why it is none.
type rankedHost struct {
	host    *Host
	refusal spec.Failure // Reason is empty while the host is a choice
	cost    cost
}

// better is for choices and refusals; of equals none is.
func (o *rankedHost) better(than *rankedHost) bool {
	if o.refusal.Reason != "" || than.refusal.Reason != "" {
		return o.refusal.Reason == "" && than.refusal.Reason != ""
	}
	return o.cost.compare(than.cost) < 0
}

// best is the host for the next task; nil when no host is a choice. The strategy decides, then the cost, then the
// host id.
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

// refusal asks the filters about the host as it is now.
func (a *evaluation) refusal(h *Host, filters []filter) (refusal spec.Failure, refused bool) {
	for _, refuses := range filters {
		if reason, detail := refuses(a, h); reason != "" {
			return spec.Failure{HostID: h.Host.ID, Reason: reason, Detail: detail}, true
		}
	}
	return spec.Failure{}, false
}

// rank makes of the host what it is to the request now.
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
