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
func connected(v *raftfsm.View, targets map[string]ofServices) (listeners []traffic.Listener, groups []traffic.Group) {
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
				if group := connectGroup(c, e, targets); !seenGroups[group.ID] {
					seenGroups[group.ID] = true
					groups = append(groups, group)
				}
				for _, a := range c.Addresses(e) {
					if l := connectListener(c, e, a); !seenListeners[l.ID] {
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

func connectListener(c *service.Connect, e *service.Endpoint, a service.Address) traffic.Listener {
	l := traffic.Listener{
		ID: join(a.Name, a.Port), Port: a.Port, Protocol: connectProtocol(e),
		Rules: []traffic.Rule{{ID: join(a.Name, a.Port), Action: traffic.Action{Forward: []traffic.WeightedGroup{{Group: c.Discovery(e), Weight: 1}}}}},
	}
	if e.IdleSeconds != nil {
		l.IdleTimeout = time.Duration(*e.IdleSeconds) * time.Second
	}
	l.RequestTimeout = time.Duration(e.RequestSeconds) * time.Second
	return l
}

func connectGroup(c *service.Connect, e *service.Endpoint, targets map[string]ofServices) traffic.Group {
	of := targets[c.Discovery(e)]
	g := traffic.Group{
		ID: c.Discovery(e), Protocol: connectProtocol(e), DeregistrationDelay: connectDrainDelay, Targets: of.targets, Owner: of.owner,
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
