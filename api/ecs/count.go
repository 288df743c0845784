package ecs

import (
	"pinion/raftfsm/spec"
)

// taskCount is how many tasks run and wait, by launch type.
type taskCount map[spec.Status]map[string]int64

func countTasks(tasks []*spec.Task) taskCount {
	count := taskCount{spec.Running: {}, spec.Pending: {}}
	for _, task := range tasks {
		switch task.LastStatus {
		case spec.Running:
			count[spec.Running][task.LaunchType]++
		case spec.Provisioning, spec.Pending:
			count[spec.Pending][task.LaunchType]++
		}
	}
	return count
}

func (c taskCount) running() int { return c.sum(spec.Running) }
func (c taskCount) pending() int { return c.sum(spec.Pending) }

func (c taskCount) sum(status spec.Status) int {
	var all int64
	for _, n := range c[status] {
		all += n
	}
	return int(all)
}

// statistics are ECS's, name by name; there are neither services nor Fargate here.
func (c taskCount) statistics() []keyValue {
	return []keyValue{
		number("runningEC2TasksCount", c[spec.Running][launchEC2]),
		number("runningFargateTasksCount", 0),
		number("runningExternalTasksCount", c[spec.Running][launchExternal]),
		number("pendingEC2TasksCount", c[spec.Pending][launchEC2]),
		number("pendingFargateTasksCount", 0),
		number("pendingExternalTasksCount", c[spec.Pending][launchExternal]),
		number("activeEC2ServiceCount", 0),
		number("activeFargateServiceCount", 0),
		number("activeExternalServiceCount", 0),
		number("drainingEC2ServiceCount", 0),
		number("drainingFargateServiceCount", 0),
		number("drainingExternalServiceCount", 0),
	}
}
