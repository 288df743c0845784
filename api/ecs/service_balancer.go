package ecs

import (
	"reflect"
	"slices"

	"pinion/api/ecs/field"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// loadBalancers are those of a service of a cluster after a request: given ones, or what the service had, when none are given. The definition is
// that of its tasks from then on.
func loadBalancers(r *Request, cluster string, given []types.LoadBalancerInput, had []service.LoadBalancer, definition *spec.TaskDefinition) ([]service.LoadBalancer, error) {
	all := had
	if given != nil {
		parsed, err := servicedef.ParseLoadBalancers(given)
		if err != nil {
			return nil, err
		}
		all = parsed
	}
	for _, b := range all {
		if slices.Contains(had, b) {
			continue
		}
		if err := checkRegisters(r, cluster, b); err != nil {
			return nil, err
		}
	}
	return all, servicedef.CheckLoadBalancers(all, definition)
}

// checkRegisters decides who may have the tasks of a cluster's services get the requests of a target group: an administrator of the whole pool,
// and everybody who may change services of a cluster that the group is open to. It is the one place that decides so.
func checkRegisters(r *Request, cluster string, b service.LoadBalancer) error {
	g := loadbalancer.FindGroup(r.View, b.Group)
	admin := r.Role == spec.RoleAdmin && r.Scope == ""
	switch {
	case g != nil && (admin || g.OpenTo(cluster)):
		return nil
	case g == nil && admin:
		return field.Errorf("loadBalancers", "The target group %s does not exist.", b.ARN)
	}
	return wire.Errorf(wire.AccessDenied, "%s may not register tasks of the cluster %s with the target group %s: there is none, or its tag %s does not name the cluster. An administrator sets the tag.", r.Principal, cluster, b.ARN, loadbalancer.TagCluster)
}

// balancersOf are the load balancers of a service as it is.
func balancersOf(r *Request, s *service.Service) []service.LoadBalancer {
	if revision := r.View.ServiceRevision(s.Primary().ID); revision != nil {
		return revision.LoadBalancers
	}
	return nil
}

// sameTraffic reports whether a service gets its requests as a revision says.
func sameTraffic(r *Request, s *service.Service, revision *service.Revision) bool {
	return slices.Equal(balancersOf(r, s), revision.LoadBalancers) && reflect.DeepEqual(connectOf(r, s), revision.Connect)
}
