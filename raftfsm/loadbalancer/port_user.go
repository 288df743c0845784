package loadbalancer

import (
	"slices"

	"pinion/raftfsm/command"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// portUser says what has a TCP port of a host, for people: a host itself, or a task that is not STOPPED; empty: nothing does.
func portUser(p command.View, port int) string {
	for _, h := range p.Hosts("") {
		if !h.Lost() && slices.Contains(h.Ports, port) {
			return "host " + h.Name + " itself, such as SSH or Pinion"
		}
	}
	for _, task := range p.Tasks("") {
		if task.LastStatus != spec.Stopped && holdsPort(task, port) {
			return "task " + task.ID
		}
	}
	return ""
}

// serviceOf is the name of an ACTIVE service whose tasks are registered with a target group; empty: none does that.
func serviceOf(p command.View, group string) string {
	for _, s := range p.Services("") {
		if s.Status == service.Active && slices.Contains(s.Groups(p), group) {
			return s.Name
		}
	}
	return ""
}

// holdsPort reports whether a task has a TCP port of its host, by its definition or as a published port.
func holdsPort(t *spec.Task, port int) bool {
	published := func(b spec.NetworkBinding) bool { return b.HostPort == port && b.Protocol != "udp" }
	return slices.Contains(t.Ports, port) || slices.ContainsFunc(t.Containers, func(c spec.Container) bool { return slices.ContainsFunc(c.Bindings, published) })
}
