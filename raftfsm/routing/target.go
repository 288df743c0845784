package routing

import (
	"cmp"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// serviceTargets has the targets of services in one group.
type serviceTargets struct {
	targets []traffic.Target // those of one service lie together, by the ids of its tasks
	owner   traffic.Owner    // the only service; zero: there are several, and each target says its own
}

// targetsOf lists the targets that are tasks of services, by the group: of one group alone, or of all of them when its id is "".
func targetsOf(v *raftfsm.View, group string) map[string]serviceTargets {
	all := map[string][]traffic.Target{}
	owners := map[string][]*traffic.Owner{} // by the group
	for _, s := range v.Services("") {
		if s.Status == service.Inactive {
			continue
		}
		ports := portsOf(v, s, group)
		if len(ports) == 0 {
			continue
		}
		owner := ownerOf(s)
		for _, revision := range ports {
			for _, b := range revision {
				if !slices.Contains(owners[b.Group], owner) {
					owners[b.Group] = append(owners[b.Group], owner)
				}
			}
		}
		for _, task := range v.ServiceTasks(s.ID) {
			for _, b := range ports[task.Service.Deployment] {
				if target, is := TargetOf(v, task, b); is {
					target.Owner = owner
					all[b.Group] = append(all[b.Group], target)
				}
			}
		}
	}
	of := make(map[string]serviceTargets, len(owners))
	for group, services := range owners {
		of[group] = ownedBy(services, all[group])
	}
	return of
}

// portsOf are the ports of a service that get requests, by deployment: as targets of one group alone, or of any when its id is "".
func portsOf(v *raftfsm.View, s *service.Service, group string) map[string][]service.LoadBalancer {
	ports := map[string][]service.LoadBalancer{}
	for i := range s.Deployments {
		revision := v.ServiceRevision(s.Deployments[i].ID)
		if revision == nil {
			continue
		}
		for _, b := range revision.Targets() {
			if group == "" || b.Group == group {
				ports[revision.ID] = append(ports[revision.ID], b)
			}
		}
	}
	return ports
}

func ownerOf(s *service.Service) *traffic.Owner {
	options, _ := spec.ParseSchedulingOptions(s.Tags) // they were checked
	return &traffic.Owner{Cluster: s.Cluster, Team: options.Team, Service: s.Name}
}

// ownedBy says of targets once whose they are where that is one service, as it nearly always is: each host gets the Routing.
func ownedBy(services []*traffic.Owner, targets []traffic.Target) serviceTargets {
	if len(services) > 1 {
		return serviceTargets{targets: targets}
	}
	for i := range targets {
		targets[i].Owner = nil
	}
	return serviceTargets{targets: targets, owner: *services[0]}
}

// TargetOf is the target that a task is for a port of its service that gets requests. It is none before it runs, when it has stopped, and when it has no
// such port.
func TargetOf(v *raftfsm.View, task *spec.Task, b service.LoadBalancer) (target traffic.Target, is bool) {
	host := v.Host(task.HostID)
	own, port := Endpoint(v, task, b.Container, b.Port)
	if host == nil || host.Lost() || port == 0 || task.LastStatus != spec.Running && task.LastStatus != spec.Stopping {
		return traffic.Target{}, false
	}
	target = traffic.Target{ID: traffic.TargetID{Group: b.Group, Task: task.ID, Container: b.Container, Port: b.Port}.String(), Address: join(cmp.Or(own, spec.WithoutPort(host.Address)), port)}
	target.State, target.Since = stateOf(task, b)
	return target, true
}

// Endpoint returns the address at which other hosts reach a container's port: at the address of its own that its task has, or, when own is empty, at its host's, and the port
// there; 0: nowhere.
func Endpoint(v *raftfsm.View, task *spec.Task, container string, port int) (own string, at int) {
	host, d := v.Host(task.HostID), v.Definition(task.Definition)
	i := slices.IndexFunc(task.Containers, func(c spec.Container) bool { return c.Name == container })
	if i < 0 || host == nil || d == nil {
		return "", 0
	}
	c := &task.Containers[i]
	if d.HasOwnAddress() {
		if !host.TaskNetwork.Owns(c.Address) {
			return "", 0 // it has none yet, or the host has lost the subnet, which may be another's by now
		}
		return c.Address, port
	}
	for _, binding := range c.Bindings {
		if binding.ContainerPort == port && binding.Protocol != "udp" {
			return "", binding.HostPort
		}
	}
	if d.NetworkMode == "host" {
		return "", port
	}
	return "", 0
}
