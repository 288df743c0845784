package exporter

import (
	"time"

	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// taskCounts are the tasks of the pool, counted in one pass.
type taskCounts struct {
	byStatus  labelCounts[[3]string] // cluster, team, status
	stopped   labelCounts[[3]string] // cluster, team, cause
	allocated labelCounts[[2]string] // cluster, team: thousandths of GPUs
	queued    labelCounts[[3]string] // cluster, team, reason
	oldest    map[[2]string]time.Time
	services  map[string]*serviceCount // by id
}

// serviceCount is what was found of the tasks of a service.
type serviceCount struct{ running, pending, healthy, unhealthy float64 }

// stoppedWithin is for how long a stopped task is counted. The state keeps stopped tasks longer.
const stoppedWithin = 10 * time.Minute

// causeOf is why a task has stopped.
func causeOf(t *spec.Task) string {
	switch {
	case t.OutOfMemory():
		return "OutOfMemory"
	case t.GPUFailed():
		return "GPUFault"
	}
	return string(t.StopCode)
}

// What a task in the queue waits for.
const (
	waitsForPlace      = "place"
	waitsForRelease    = "release"
	waitsForDependency = "dependency"
)

// tasks counts tasks, and what they say of the queue, of teams and of services.
func (c *count) tasks() {
	n := &taskCounts{labelCounts[[3]string]{}, labelCounts[[3]string]{}, labelCounts[[2]string]{}, labelCounts[[3]string]{}, map[[2]string]time.Time{}, map[string]*serviceCount{}}
	for _, cluster := range c.view.Clusters() {
		for task := range c.view.TasksAfter(cluster.Name, "") {
			if task.LastStatus != spec.Stopped {
				c.omitted += n.add(task)
			} else if c.now.Sub(task.Times.Stopped) < stoppedWithin {
				c.omitted += n.stopped.add([3]string{task.Cluster, task.SchedulingOptions().Team, causeOf(task)}, 1)
			}
		}
	}
	for key, count := range n.byStatus {
		c.gauge(tasks, count, key[0], key[1], key[2])
	}
	for key, count := range n.stopped {
		c.gauge(stopped, count, key[0], key[1], key[2])
	}
	for key, milli := range n.allocated {
		c.gauge(allocated, milli/gpuuse.Milli, key[0], key[1])
	}
	for key, count := range n.queued {
		c.gauge(queueTasks, count, key[0], key[1], key[2])
	}
	for key, since := range n.oldest {
		c.gauge(queueOldest, max(0, c.now.Sub(since).Seconds()), key[0], key[1])
	}
	c.services(n.services)
}

// add counts a task. It returns how many of its counts are left out.
func (n *taskCounts) add(t *spec.Task) (left int) {
	team := t.SchedulingOptions().Team
	left += n.byStatus.add([3]string{t.Cluster, team, string(t.LastStatus)}, 1)
	if milli := t.GPUMilli(); milli > 0 && t.HostID != "" {
		left += n.allocated.add([2]string{t.Cluster, team}, float64(milli))
	}
	if t.LastStatus == spec.Provisioning && t.HostID == "" && t.DesiredStatus != spec.Stopped {
		left += n.addQueued(t, team)
	}
	if t.Service != nil {
		n.addToService(t)
	}
	return left
}

func (n *taskCounts) addQueued(t *spec.Task, team string) (left int) {
	reason := waitsForPlace
	switch {
	case t.Held():
		reason = waitsForRelease
	case t.Blocked():
		reason = waitsForDependency
	}
	left = n.queued.add([3]string{t.Cluster, team, reason}, 1)
	key := [2]string{t.Cluster, team}
	if oldest, known := n.oldest[key]; reason == waitsForPlace && left == 0 && (!known || t.CreatedAt.Before(oldest)) {
		n.oldest[key] = t.CreatedAt
	}
	return left
}

func (n *taskCounts) addToService(t *spec.Task) {
	s := n.services[t.Service.ID]
	if s == nil {
		s = &serviceCount{}
		n.services[t.Service.ID] = s
	}
	if t.LastStatus == spec.Running {
		s.running++
	} else if t.LastStatus.Rank() < spec.Running.Rank() {
		s.pending++
	}
	for _, target := range t.Targets {
		if target.State == traffic.Healthy {
			s.healthy++
		} else {
			s.unhealthy++
		}
	}
}

// services counts services with their deployments, as many as are bounded.
func (c *count) services(found map[string]*serviceCount) {
	shown := 0
	for _, s := range c.view.Services("") {
		if s.Status == service.Inactive {
			continue
		}
		if shown++; shown > maxSeries {
			c.omitted++
			continue
		}
		options, _ := spec.ParseSchedulingOptions(s.Tags) // they were checked
		of := found[s.ID]
		if of == nil {
			of = &serviceCount{}
		}
		c.gauge(serviceTasks, float64(s.Desired), s.Cluster, options.Team, s.Name, "desired")
		c.gauge(serviceTasks, of.running, s.Cluster, options.Team, s.Name, "running")
		c.gauge(serviceTasks, of.pending, s.Cluster, options.Team, s.Name, "pending")
		states := labelCounts[string]{}
		for i := range s.Deployments {
			states[string(s.Deployments[i].State)]++
		}
		for state, n := range states {
			c.gauge(serviceRollouts, n, s.Cluster, options.Team, s.Name, state)
		}
		if of.healthy+of.unhealthy > 0 {
			c.gauge(serviceTargets, of.healthy, s.Cluster, options.Team, s.Name, "healthy")
			c.gauge(serviceTargets, of.unhealthy, s.Cluster, options.Team, s.Name, "unhealthy")
		}
	}
}
