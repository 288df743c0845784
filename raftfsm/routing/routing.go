// Package routing makes of a state what the proxies of hosts need to know: traffic.Routing. It computes and nothing else.
package routing

import (
	"strconv"
	"strings"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/tasknetwork"
	"pinion/raftfsm/traffic"
)

// Compute is the Routing of a state: its listeners by port, and its target groups by name with their targets; behind them those of Service Connect. All that it has follows from the
// state, and an equal state has an equal Routing.
func Compute(v *raftfsm.View) traffic.Routing {
	var r traffic.Routing
	shares := sharesOf(v)
	for _, l := range loadbalancer.AllListeners(v) {
		r.Listeners = append(r.Listeners, listenerOf(v, l, shares))
	}
	targets, awaited := targetsOf(v, ""), awaited(v)
	for _, g := range loadbalancer.Groups(v) {
		group := groupOf(g, targets[g.ID])
		group.MaxWaiting = maxWaiting(g, awaited[g.ID])
		r.Groups = append(r.Groups, group)
	}
	listeners, groups := connected(v, targets)
	r.Listeners, r.Groups = append(r.Listeners, listeners...), append(r.Groups, groups...)
	r.TaskNetworks = taskNetworks(v)
	return r
}

// taskNetworks are the subnets of hosts that are not lost, by their ids.
func taskNetworks(v *raftfsm.View) (all []tasknetwork.Route) {
	for _, h := range v.Hosts("") {
		if n := h.TaskNetwork; n != nil && n.Subnet != "" && !h.Lost() {
			all = append(all, tasknetwork.Route{Network: n.Name, Range: n.Range, Subnet: n.Subnet, HostID: h.ID, Via: spec.WithoutPort(h.Address)})
		}
	}
	return all
}

// Targets are the targets of one group. It looks at no tasks but those of services that are registered with the group.
func Targets(v *raftfsm.View, g *loadbalancer.Group) []traffic.Target {
	return groupOf(g, targetsOf(v, g.ID)[g.ID]).Targets
}

// listenerOf is a listener with its rules, and with what its load balancer says of all of its listeners.
func listenerOf(v *raftfsm.View, l *loadbalancer.Listener, shares map[string][]share) traffic.Listener {
	out := traffic.Listener{ID: l.ID, Port: l.Port, Protocol: l.Protocol}
	for _, c := range l.Certificates {
		out.Certificates = append(out.Certificates, c.Name)
	}
	for _, rule := range loadbalancer.Rules(v, l.ID) {
		out.Rules = append(out.Rules, traffic.Rule{ID: rule.ID, Conditions: rule.Conditions, Action: shared(rule.Action, shares[rule.ID])})
	}
	if !l.Protocol.IsHTTP() {
		out.IdleTimeout = seconds(l.Attributes[loadbalancer.TCPIdleTimeout])
		return out
	}
	if b := loadbalancer.Find(v, l.LoadBalancer); b != nil {
		out.IdleTimeout = seconds(b.Attributes[loadbalancer.IdleTimeout])
		out.XForwardedFor = traffic.XFFMode(b.Attributes[loadbalancer.XFFMode])
		out.XFFClientPort = b.Attributes[loadbalancer.XFFClientPort] == "true"
	}
	return out
}

// groupOf is a target group with its targets: those of tasks, and behind them those that are registered by address. Nobody checks the health of
// these.
func groupOf(g *loadbalancer.Group, of serviceTargets) traffic.Group {
	out := traffic.Group{
		ID: g.ID, Name: g.Name, Protocol: g.Protocol, Version: g.Version, Algorithm: traffic.Algorithm(g.Attributes[loadbalancer.Algorithm]),
		SlowStart: seconds(g.Attributes[loadbalancer.SlowStart]), Affinity: affinityOf(g), ProxyProtocol: g.Attributes[loadbalancer.ProxyProtocol] == "true",
		Health: g.Health, DeregistrationDelay: g.DeregistrationDelay(), Targets: of.targets, Owner: of.owner,
	}
	if most, set := g.Tag(loadbalancer.TagMaxInFlight); set {
		out.MaxInFlight = number(most)
	}
	if span, set := g.Tag(loadbalancer.TagWaitTimeout); set {
		out.WaitTimeout, _ = time.ParseDuration(span)
	}
	for _, t := range g.Targets {
		address := join(t.Address, t.Port)
		out.Targets = append(out.Targets, traffic.Target{ID: address, Address: address, State: traffic.Healthy})
	}
	return out
}

// affinityOf is the affinity of a group by its tag, or by ELB's attributes; nil: none.
func affinityOf(g *loadbalancer.Group) *traffic.Affinity {
	if tag, set := g.Tag(loadbalancer.TagAffinity); set {
		if affinity, err := loadbalancer.ParseAffinity(tag); err == nil {
			return affinity
		}
	}
	if g.Attributes[loadbalancer.Stickiness] != "true" {
		return nil
	}
	if g.Attributes[loadbalancer.StickinessType] == loadbalancer.AppCookie {
		return &traffic.Affinity{By: traffic.ByCookie, Name: g.Attributes[loadbalancer.StickinessCookie]}
	}
	return &traffic.Affinity{By: traffic.BySourceIP}
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // what was recorded was checked
	return n
}

func seconds(text string) time.Duration { return time.Duration(number(text)) * time.Second }

// join is host:port.
func join(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}
