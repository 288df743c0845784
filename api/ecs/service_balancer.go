package ecs

import (
	"cmp"
	"reflect"
	"slices"

	"pinion/api/ecs/field"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// loadBalancers are those of a service of a cluster after a request, as they were asked for: given ones, or what the service had, when none are
// given. The definition is that of its tasks from then on.
func loadBalancers(r *Request, cluster string, given []types.LoadBalancerInput, had []service.LoadBalancer, how *service.DeploymentConfiguration, definition *spec.TaskDefinition) ([]service.LoadBalancer, error) {
	all := had
	if given != nil {
		parsed, err := servicedef.ParseLoadBalancers(given)
		if err != nil {
			return nil, err
		}
		all = parsed
		for i := range all {
			if err := resolveRules(r, &all[i]); err != nil {
				return nil, err
			}
		}
	}
	for _, b := range all {
		if slices.Contains(had, b) {
			continue
		}
		if err := checkRegisters(r, cluster, b); err != nil {
			return nil, err
		}
		if other := (service.LoadBalancer{Group: b.Advanced.Alternate, ARN: b.Advanced.AlternateARN}); other.Group != "" {
			if err := checkRegisters(r, cluster, other); err != nil {
				return nil, err
			}
		}
	}
	return all, cmp.Or(servicedef.CheckShifting(all, how), servicedef.CheckLoadBalancers(all, definition))
}

// resolveRules finds the rules that divide the traffic of a load balancer: the default one of a listener that is named.
func resolveRules(r *Request, b *service.LoadBalancer) error {
	for member, id := range map[string]*string{"productionListenerRule": &b.Advanced.Production, "testListenerRule": &b.Advanced.Test} {
		if *id == "" {
			continue
		}
		if rules := loadbalancer.Rules(r.View, *id); len(rules) > 0 {
			*id = rules[len(rules)-1].ID
		}
		rule := loadbalancer.FindRule(r.View, *id)
		switch forwards := func(w traffic.WeightedGroup) bool { return w.Group == b.Group || w.Group == b.Advanced.Alternate }; {
		case rule == nil:
			return field.Errorf("loadBalancers", "%s: there is no such listener rule.", member)
		case !slices.ContainsFunc(rule.Action.Forward, forwards):
			return field.Errorf("loadBalancers", "%s: the rule forwards to neither targetGroupArn nor alternateTargetGroupArn.", member)
		}
	}
	return nil
}

// checkRegisters decides who may have the tasks of a cluster's services get the requests of a target group: an administrator of the whole pool,
// and everybody who may change services of a cluster that the group is open to. It is the one place that decides so.
func checkRegisters(r *Request, cluster string, b service.LoadBalancer) error {
	g := loadbalancer.FindGroup(r.View, b.Group)
	admin := r.Role == accesskey.RoleAdmin && r.KeyClusters == ""
	switch {
	case g != nil && (admin || g.OpenTo(cluster)):
		return nil
	case g == nil && admin:
		return field.Errorf("loadBalancers", "The target group %s does not exist.", b.ARN)
	}
	return wire.Errorf(wire.AccessDenied, "%s may not register tasks of the cluster %s with the target group %s: there is none, or its tag %s does not name the cluster. An administrator sets the tag.", r.Principal, cluster, b.ARN, loadbalancer.TagCluster)
}

// balancersOf are the load balancers of a deployment of a service, nil for one that is not known.
func balancersOf(r *Request, d *service.Deployment) []service.LoadBalancer {
	if revision := r.View.ServiceRevision(d.ID); revision != nil {
		return revision.LoadBalancers
	}
	return nil
}

// sameTraffic reports whether a service gets its requests as a revision says.
func sameTraffic(r *Request, s *service.Service, revision *service.Revision) bool {
	return slices.Equal(askedBalancers(r, s), revision.LoadBalancers) && reflect.DeepEqual(askedConnect(r, s), revision.Connect) && slices.Equal(subnetsOf(r, s), revision.Subnets)
}

// askedBalancers are the load balancers of a service as they were asked for.
func askedBalancers(r *Request, s *service.Service) (all []service.LoadBalancer) {
	for _, b := range balancersOf(r, s.Primary()) {
		all = append(all, b.AsRequested())
	}
	return all
}
