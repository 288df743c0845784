package routing

import (
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// noWaiting is Group.MaxWaiting of a group whose requests do not wait.
const noWaiting = -1

// awaited are the target groups, by id, whose requests wait while no target is healthy, unless their tags say otherwise: a service is about to have
// one. Others answer 503 at once, as on ELB.
func awaited(v *raftfsm.View) map[string]bool {
	groups := map[string]bool{}
	for _, s := range v.Services("") {
		if s.Status != service.Active || !wakes(v, s) && !isStarting(v, s) {
			continue
		}
		for i := range s.Deployments {
			if revision := v.ServiceRevision(s.Deployments[i].ID); revision != nil {
				for _, b := range revision.LoadBalancers {
					groups[b.Group] = true
				}
			}
		}
	}
	return groups
}

// wakes reports whether requests have a task of the service started: it is scaled to zero and back.
func wakes(v *raftfsm.View, s *service.Service) bool {
	target := scaling.Find(v, s.ID)
	return target != nil && target.Min == 0
}

// isStarting reports whether tasks of the service are to become healthy soon: some are missing or not known to be unhealthy, none has failed since
// the last healthy one, and nothing keeps them from a place.
func isStarting(v *raftfsm.View, s *service.Service) bool {
	primary := s.Primary()
	if s.Desired == 0 || primary.State == service.Failed || primary.Waves > 0 || s.Conditions.Unplaced || s.Conditions.Limited {
		return false
	}
	unhealthy := 0
	for _, t := range v.ServiceTasks(s.ID) {
		if t.DesiredStatus == spec.Running && slices.ContainsFunc(t.Targets, func(h traffic.TargetHealth) bool { return h.State == traffic.Unhealthy }) {
			unhealthy++
		}
	}
	return unhealthy < s.Desired
}

// maxWaiting is Group.MaxWaiting: what the tag of the group says, else the default of an awaited group, and of one whose requests may wait for a time
// that its tag says.
func maxWaiting(g *loadbalancer.Group, awaited bool) int {
	if most, set := g.Tag(loadbalancer.TagMaxWaiting); set && number(most) > 0 {
		return number(most)
	} else if set {
		return noWaiting
	}
	if _, timed := g.Tag(loadbalancer.TagWaitTimeout); timed || awaited {
		return 0
	}
	return noWaiting
}
