package rollout

import (
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// rules say what a task is to its service at a moment, and when that may change by itself.
type rules struct {
	v    *raftfsm.View
	s    *service.Service
	now  time.Time
	wake time.Time
}

// wakeAt has the service looked at again at a moment.
func (u *rules) wakeAt(at time.Time) {
	if at.After(u.now) && (u.wake.IsZero() || at.Before(u.wake)) {
		u.wake = at
	}
}

func (u *rules) replica(t *spec.Task) *replica {
	r := &replica{Task: t}
	r.healthy, r.unhealthy = u.health(t)
	if t.LastStatus == spec.Provisioning && t.Hold == nil {
		since := t.CreatedAt
		if u.s.Conditions.Freed.After(since) {
			since = u.s.Conditions.Freed
		}
		r.noPlace = !u.now.Before(since.Add(noPlaceAfter))
		u.wakeAt(since.Add(noPlaceAfter))
	}
	host := u.v.Host(t.HostID)
	if host != nil && u.s.Rebalances() {
		r.zone, _ = host.Attribute(spec.AttributeZone)
	}
	r.gpuFault = u.gpuFault(t, host)
	r.fit = !r.unhealthy && r.gpuFault == "" && (host == nil || host.Status != spec.HostDraining)
	r.current = r.fit && t.Service.Deployment == u.s.Primary().ID
	return r
}

// gpuFault is why a task has to leave its GPU now; empty when it stays. A task of a DAEMON has no other host.
func (u *rules) gpuFault(t *spec.Task, host *spec.Host) string {
	if u.s.Strategy == service.Daemon || host == nil {
		return ""
	}
	why, from := u.v.Cluster(t.Cluster).Rules().GPUFaults.MovesFrom(host.GPUs, t.GPUs(), t.Times.Started)
	if why == "" || u.now.Before(from) {
		u.wakeAt(from)
		return ""
	}
	return spec.GPUFault + why
}

// health is that of the task's essential containers with a health check, and of its targets; without any the task is healthy some time after its
// start. It is unhealthy only after the service's grace. One of a daemon is not healthy while it bakes.
func (u *rules) health(t *spec.Task) (healthy, unhealthy bool) {
	healthy, unhealthy = u.checks(t)
	if baked := t.Times.Started.Add(u.bakeTime(t)); healthy && u.now.Before(baked) {
		u.wakeAt(baked)
		healthy = false
	}
	return healthy, unhealthy
}

// bakeTime is how long a task of a daemon has to run before it is healthy: only while its deployment is in progress.
func (u *rules) bakeTime(t *spec.Task) time.Duration {
	if p := u.s.Primary(); p.State != service.InProgress || p.ID != t.Service.Deployment {
		return 0
	}
	return u.s.BakeTime()
}

// checks is health without the bake time.
func (u *rules) checks(t *spec.Task) (healthy, unhealthy bool) {
	if t.LastStatus != spec.Running {
		return false, false
	}
	checked, targets, judged := u.checkedContainers(t), u.targets(t), u.judged(t)
	if len(checked)+len(targets) == 0 {
		u.wakeAt(t.Times.Started.Add(u.s.HealthyAfter()))
		return !u.now.Before(t.Times.Started.Add(u.s.HealthyAfter())), false
	}
	healthy = true
	for _, c := range checked {
		healthy = healthy && c.Health == spec.Healthy
		unhealthy = unhealthy || c.Health == spec.Unhealthy
	}
	for i, b := range targets {
		found := traffic.FindHealth(t.Targets, b.Group, b.Container, b.Port)
		healthy = healthy && found != nil && found.State == traffic.Healthy
		unhealthy = unhealthy || found != nil && found.State == traffic.Unhealthy && i < judged
	}
	if unhealthy {
		ends := t.Times.Started.Add(u.grace())
		u.wakeAt(ends)
		unhealthy = !u.now.Before(ends)
	}
	return healthy, unhealthy
}

// unhealthyTarget is the first target that makes a task unhealthy, and what its host found of it; nil when its containers do.
func (u *rules) unhealthyTarget(t *spec.Task) (b service.LoadBalancer, found *traffic.TargetHealth) {
	for _, c := range u.checkedContainers(t) {
		if c.Health == spec.Unhealthy {
			return b, nil
		}
	}
	for _, b := range u.targets(t)[:u.judged(t)] {
		if found := traffic.FindHealth(t.Targets, b.Group, b.Container, b.Port); found != nil && found.State == traffic.Unhealthy {
			return b, found
		}
	}
	return b, nil
}

// Healthy is how many tasks of a service are healthy, of those that were not asked to stop.
func Healthy(v *raftfsm.View, s *service.Service, now time.Time) (n int) {
	u := &rules{v: v, s: s, now: now}
	for _, t := range v.ServiceTasks(s.ID) {
		if healthy, _ := u.health(t); healthy && t.DesiredStatus != spec.Stopped {
			n++
		}
	}
	return n
}

func (u *rules) grace() time.Duration {
	if u.s.Settings.GraceSeconds == nil {
		return 0
	}
	return time.Duration(*u.s.Settings.GraceSeconds) * time.Second
}

// targets are the ports of a task that get requests: of load balancers first, then of Service Connect.
func (u *rules) targets(t *spec.Task) []service.LoadBalancer {
	if revision := u.v.ServiceRevision(t.Service.Deployment); revision != nil {
		return revision.Targets()
	}
	return nil
}

// judged is how many of the targets of a task make it unhealthy when they are: those of load balancers, as on ECS. A port of Service Connect that
// does not answer yet may belong to a program that loads for long.
func (u *rules) judged(t *spec.Task) int {
	if revision := u.v.ServiceRevision(t.Service.Deployment); revision != nil {
		return len(revision.LoadBalancers)
	}
	return 0
}

// checkedContainers are the essential containers of a task that have a health check.
func (u *rules) checkedContainers(t *spec.Task) (checked []spec.Container) {
	definition := u.v.Definition(t.Definition)
	if definition == nil {
		return nil
	}
	for _, d := range definition.Containers {
		i := slices.IndexFunc(t.Containers, func(c spec.Container) bool { return c.Name == d.Name })
		if i >= 0 && d.HealthCheck != nil && (d.Essential == nil || *d.Essential) {
			checked = append(checked, t.Containers[i])
		}
	}
	return checked
}

// outcome is that of a task that is STOPPED.
func (u *rules) outcome(t *spec.Task) outcome {
	switch {
	case t.StopCode == spec.StopScheduler && t.Service.Unhealthy:
		return failed
	case t.StopCode == spec.StopUserInitiated, t.StopCode == spec.StopPreempted, t.StopCode == spec.StopScheduler, lostHost(t):
		return displaced
	case t.Times.Started.IsZero(), t.Times.Stopped.Sub(t.Times.Started) < u.bakeTime(t):
		return failed
	}
	checked := u.checkedContainers(t)
	for _, c := range checked {
		if c.Health != spec.Healthy {
			return failed
		}
	}
	targets := u.targets(t)
	for _, b := range targets {
		if found := traffic.FindHealth(t.Targets, b.Group, b.Container, b.Port); found == nil || found.State != traffic.Healthy {
			return failed
		}
	}
	if len(checked)+len(targets) == 0 && t.Times.Stopped.Sub(t.Times.Started) < u.s.HealthyAfter() {
		return failed
	}
	return crashed
}
