package rollout

import (
	"math"
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// Progress is how far a service has got with its deployments.
func Progress(v *raftfsm.View, s *service.Service, now time.Time) service.Progress {
	u := &rules{v: v, s: s, now: now}
	p := service.Progress{Cluster: s.Cluster, Service: s.Name, Deployments: make([]service.DeploymentProgress, len(s.Deployments))}
	for i := range s.Deployments {
		p.Deployments[i].ID = service.DeploymentName(s.Deployments[i].ID)
	}
	served, all := make([]int, len(s.Deployments)), 0 // tasks that get requests
	for _, t := range v.ServiceTasks(s.ID) {
		if t.DesiredStatus == spec.Stopped {
			continue
		}
		serves := u.serves(t)
		if serves {
			all++
		}
		i := slices.IndexFunc(s.Deployments, func(d service.Deployment) bool { return d.ID == t.Service.Deployment })
		if i < 0 {
			continue
		}
		if serves {
			served[i]++
		}
		if healthy, _ := u.health(t); healthy {
			p.Deployments[i].Healthy++
		}
	}
	if all > 0 && !s.IsExternal() {
		for i := range p.Deployments {
			percent := math.Round(100 * float64(served[i]) / float64(all))
			if s.Shift.IsOn() {
				percent = float64(s.Shift.PerMilleOf(s.Deployments[i])) / 10
			}
			p.Deployments[i].RequestPercent = &percent
		}
	}
	return p
}

// serves reports whether a task gets requests: one of its targets is healthy.
func (u *rules) serves(t *spec.Task) bool {
	return t.LastStatus == spec.Running && slices.ContainsFunc(u.targets(t), func(b service.LoadBalancer) bool {
		found := traffic.FindHealth(t.Targets, b.Group, b.Container, b.Port)
		return found != nil && found.State == traffic.Healthy
	})
}
