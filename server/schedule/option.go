package schedule

import (
	"slices"

	"pinion/raftfsm/spec"
)

// option is one host for a task: how good it is, or why it is none.
type option struct {
	host    *Host
	refusal spec.Failure // Reason is empty while the host is a choice
	cost    cost
}

// better is for choices and refusals; of equals none is.
func (o *option) better(than *option) bool {
	if o.refusal.Reason != "" || than.refusal.Reason != "" {
		return o.refusal.Reason == "" && than.refusal.Reason != ""
	}
	return o.cost.compare(than.cost) < 0
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

// refusal asks the filters about the host as it is now.
func (a *ask) refusal(h *Host, filters []filter) (refusal spec.Failure, refused bool) {
	for _, refuses := range filters {
		if reason, detail := refuses(a, h); reason != "" {
			return spec.Failure{HostID: h.Host.ID, Reason: reason, Detail: detail}, true
		}
	}
	return spec.Failure{}, false
}

// consider makes of the host what it is to the request now.
func (a *ask) consider(h *Host, filters []filter) option {
	if refusal, refused := a.refusal(h, filters); refused {
		return option{host: h, refusal: refusal}
	}
	return option{host: h, cost: a.costOn(h)}
}

func (a *ask) considerAll(hosts []*Host, filters []filter) []option {
	options := make([]option, len(hosts))
	for i, host := range hosts {
		options[i] = a.consider(host, filters)
	}
	return options
}
