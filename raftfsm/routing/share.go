package routing

import (
	"cmp"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/traffic"
)

// share is a service's division of the traffic that a rule gives its two target groups.
type share struct {
	groups   [2]string // the one that its PRIMARY deployment is registered with first
	perMille int       // of the first
}

// sharesOf are the shares of services, by the rules that they are of. A service whose deployments move traffic decides between its two groups;
// what the rule itself gives the two together, and others, stays.
func sharesOf(v *raftfsm.View) map[string][]share {
	shares := map[string][]share{}
	for _, s := range v.Services("") {
		if s.Status == service.Inactive {
			continue
		}
		revision := v.ServiceRevision(s.Primary().ID)
		if revision == nil {
			continue
		}
		from := v.ServiceRevision(s.Shift.From)
		for _, b := range revision.LoadBalancers {
			moving := s.Shift.IsOn() && from != nil && slices.ContainsFunc(from.LoadBalancers, func(had service.LoadBalancer) bool { return had.Group == b.OtherGroup() })
			at := share{groups: [2]string{b.Group, b.OtherGroup()}, perMille: service.AllTraffic}
			if moving {
				at.perMille = s.Shift.PerMille
			}
			if b.Advanced.Production != "" {
				shares[b.Advanced.Production] = append(shares[b.Advanced.Production], at)
			}
			if at.perMille = service.AllTraffic; moving && !s.Shift.Tests() {
				at.perMille = 0
			}
			if b.Advanced.Test != "" {
				shares[b.Advanced.Test] = append(shares[b.Advanced.Test], at)
			}
		}
	}
	return shares
}

// shared is the action of a rule with the shares of services.
func shared(a traffic.Action, shares []share) traffic.Action {
	for _, s := range shares {
		pair, others := 0, []traffic.WeightedGroup(nil)
		for _, w := range a.Forward {
			if slices.Contains(s.groups[:], w.Group) {
				pair += w.Weight
			} else {
				others = append(others, traffic.WeightedGroup{Group: w.Group, Weight: w.Weight * service.AllTraffic})
			}
		}
		if len(others) == len(a.Forward) {
			continue // the rule has neither of the two
		}
		if pair == 0 && len(others) == 0 {
			pair = 1
		}
		a.Forward = bounded(append(others, traffic.WeightedGroup{Group: s.groups[0], Weight: pair * s.perMille},
			traffic.WeightedGroup{Group: s.groups[1], Weight: pair * (service.AllTraffic - s.perMille)}))
	}
	return a
}

// bounded are weights in about the same proportions, none above traffic.MaxWeight: each service that names the rule multiplies them, and any number
// may. What has a part of the traffic keeps one.
func bounded(all []traffic.WeightedGroup) []traffic.WeightedGroup {
	most := slices.MaxFunc(all, func(a, b traffic.WeightedGroup) int { return cmp.Compare(a.Weight, b.Weight) }).Weight
	if most <= traffic.MaxWeight {
		return all
	}
	divisor := most/traffic.MaxWeight + 1
	for i := range all {
		if all[i].Weight > 0 {
			all[i].Weight = max(1, all[i].Weight/divisor)
		}
	}
	return all
}
