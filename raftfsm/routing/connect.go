package routing

import (
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// The group of a port of Service Connect: a target is healthy while its port accepts connections.
const (
	connectInterval   = 10 * time.Second
	connectTimeout    = 5 * time.Second
	connectHealthy    = 2
	connectUnhealthy  = 3
	connectDrainDelay = 300 * time.Second // at most; a task without requests in flight is not waited for
)

// connected are the listeners and the groups of Service Connect. What the deployments of a service have alike is as the newest of them says.
func connected(v *raftfsm.View, targets map[string]serviceTargets) (listeners []traffic.Listener, groups []traffic.Group) {
	clusters := namespaces(v)
	for _, s := range v.Services("") {
		if s.Status == service.Inactive || len(s.Names) == 0 {
			continue
		}
		seenListeners, seenGroups := map[string]bool{}, map[string]bool{}
		for i := range s.Deployments {
			revision := v.ServiceRevision(s.Deployments[i].ID)
			if revision == nil || revision.Connect == nil {
				continue
			}
			c := revision.Connect
			if !slices.Contains(clusters[c.Namespace], s.Cluster) {
				continue // its cluster has left the namespace
			}
			for j := range c.Endpoints {
				e := &c.Endpoints[j]
				of := trafficSplitOf(v, s, revision, e)
				if group := connectGroup(c, e, targets); !seenGroups[group.ID] {
					seenGroups[group.ID] = true
					groups = append(groups, group)
				}
				for _, a := range c.Addresses(e) {
					if l := connectListener(c, e, a, of); !seenListeners[l.ID] {
						seenListeners[l.ID] = true
						l.Virtual = &traffic.Virtual{Name: a.Name, Number: s.Number(a.Name), Clusters: clusters[c.Namespace]}
						listeners = append(listeners, l)
					}
				}
			}
		}
	}
	return listeners, groups
}

// namespaces are the ACTIVE clusters by their namespace.
func namespaces(v *raftfsm.View) map[string][]string {
	all := map[string][]string{}
	for _, c := range v.Clusters() {
		if namespace, err := service.Namespace(v, c.Name); err == nil && c.Status == spec.ClusterActive {
			all[namespace] = append(all[namespace], c.Name)
		}
	}
	for _, clusters := range all {
		slices.Sort(clusters)
	}
	return all
}

// trafficSplit is the division of the requests to an endpoint.
type trafficSplit struct {
	production []traffic.WeightedGroup
	test       []traffic.WeightedGroup // nil: test traffic goes with the others
}

// trafficSplitOf divides the requests to an endpoint of a revision: while the traffic of the service moves to the revision, between its group and that of the
// one which the traffic comes from.
func trafficSplitOf(v *raftfsm.View, s *service.Service, revision *service.Revision, e *service.Endpoint) (d trafficSplit) {
	own, from := traffic.WeightedGroup{Group: revision.Connect.Group(e), Weight: 1}, v.ServiceRevision(s.Shift.From)
	if !s.Shift.IsOn() || revision.ID != s.Primary().ID || from == nil || !revision.Connect.Shares(e, from.Connect) {
		d.production = []traffic.WeightedGroup{own}
		return d
	}
	if s.Shift.Tests() {
		d.test = []traffic.WeightedGroup{own}
	}
	d.production = []traffic.WeightedGroup{
		{Group: own.Group, Weight: s.Shift.PerMille}, {Group: from.Connect.Group(e), Weight: service.AllTraffic - s.Shift.PerMille},
	}
	return d
}

func connectListener(c *service.Connect, e *service.Endpoint, a service.Address, of trafficSplit) traffic.Listener {
	l := traffic.Listener{ID: join(a.Name, a.Port), Port: a.Port, Protocol: connectProtocol(e)}
	if header := c.TestHeader(e, a); header != nil && of.test != nil {
		l.Rules = append(l.Rules, traffic.Rule{ID: l.ID + " test", Conditions: []traffic.Condition{testCondition(header)}, Action: traffic.Action{Forward: of.test}})
	}
	l.Rules = append(l.Rules, traffic.Rule{ID: l.ID, Action: traffic.Action{Forward: of.production}})
	if e.IdleSeconds != nil {
		l.IdleTimeout = time.Duration(*e.IdleSeconds) * time.Second
	}
	l.RequestTimeout = time.Duration(e.RequestSeconds) * time.Second
	return l
}

func testCondition(h *service.TestHeader) traffic.Condition {
	if h.Exact == nil {
		return traffic.Condition{Field: traffic.HTTPHeader, Header: h.Name, Values: []string{"*"}}
	}
	return traffic.Condition{Field: traffic.ExactHeader, Header: h.Name, Values: []string{*h.Exact}}
}

func connectGroup(c *service.Connect, e *service.Endpoint, targets map[string]serviceTargets) traffic.Group {
	of := targets[c.Group(e)]
	g := traffic.Group{
		ID: c.Group(e), Protocol: connectProtocol(e), DeregistrationDelay: connectDrainDelay, Targets: of.targets, Owner: of.owner,
		Health: traffic.HealthCheck{
			Protocol: traffic.TCP, Interval: connectInterval, Timeout: connectTimeout, HealthyThreshold: connectHealthy, UnhealthyThreshold: connectUnhealthy,
		},
	}
	switch e.Protocol {
	case "http2":
		g.Version = traffic.HTTP2
	case "grpc":
		g.Version = traffic.GRPC
	}
	return g
}

// connectProtocol is HTTP for a port whose mapping says that it speaks it.
func connectProtocol(e *service.Endpoint) traffic.Protocol {
	if e.Protocol == "" {
		return traffic.TCP
	}
	return traffic.HTTP
}
