package routing

import (
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// targetsOf lists the targets that are tasks of services, by the group; those of one service lie together, by the ids of its tasks.
func targetsOf(v *raftfsm.View) map[string][]traffic.Target {
	all := map[string][]traffic.Target{}
	for _, s := range v.Services("") {
		if s.Status == service.Inactive {
			continue
		}
		ports := map[string][]service.LoadBalancer{} // by deployment
		for i := range s.Deployments {
			if revision := v.ServiceRevision(s.Deployments[i].ID); revision != nil && len(revision.Targets()) > 0 {
				ports[revision.ID] = revision.Targets()
			}
		}
		if len(ports) == 0 {
			continue
		}
		for _, task := range v.ServiceTasks(s.ID) {
			for _, b := range ports[task.Service.Deployment] {
				if target, is := TargetOf(v, task, b); is {
					all[b.Group] = append(all[b.Group], target)
				}
			}
		}
	}
	return all
}

// TargetOf is the target that a task is for a port of its service that gets requests. It is none before it runs, when it has stopped, and when it has no
// such port.
func TargetOf(v *raftfsm.View, task *spec.Task, b service.LoadBalancer) (target traffic.Target, is bool) {
	host, port := v.Host(task.HostID), HostPort(v, task, b.Container, b.Port)
	if host == nil || host.Lost() || port == 0 || task.LastStatus != spec.Running && task.LastStatus != spec.Stopping {
		return traffic.Target{}, false
	}
	target = traffic.Target{ID: traffic.TargetID{Group: b.Group, Task: task.ID, Container: b.Container, Port: b.Port}.String(), Address: join(spec.WithoutPort(host.Address), port)}
	target.State, target.Since = stateOf(task, b)
	return target, true
}

// HostPort is the port of the host that a container's port has; 0: none.
func HostPort(v *raftfsm.View, task *spec.Task, container string, port int) int {
	for i := range task.Containers {
		if task.Containers[i].Name != container {
			continue
		}
		for _, binding := range task.Containers[i].Bindings {
			if binding.ContainerPort == port && binding.Protocol != "udp" {
				return binding.HostPort
			}
		}
		if d := v.Definition(task.Definition); d != nil && d.NetworkMode == "host" {
			return port
		}
	}
	return 0
}
