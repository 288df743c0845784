package routing

import (
	"time"

	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// stateOf is the state of a target and since when: what the task's host has found, until the task is asked to stop.
func stateOf(task *spec.Task, b service.LoadBalancer) (traffic.TargetState, time.Time) {
	if task.DesiredStatus == spec.Stopped {
		return traffic.Draining, task.Times.Stopping
	}
	if known := traffic.FindHealth(task.Targets, b.Group, b.Container, b.Port); known != nil {
		return known.State, known.Since
	}
	return traffic.Initial, task.Times.Started
}
