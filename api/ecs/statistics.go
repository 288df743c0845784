package ecs

import (
	"pinion/raftfsm/spec"
)

// taskCounts is how many tasks run and wait, by launch type.
type taskCounts map[spec.Status]map[string]int64

func countTasks(tasks []*spec.Task) taskCounts {
	count := taskCounts{spec.Running: {}, spec.Pending: {}}
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

func (c taskCounts) running() int { return c.sum(spec.Running) }
func (c taskCounts) pending() int { return c.sum(spec.Pending) }

func (c taskCounts) sum(status spec.Status) int {
	var all int64
	for _, n := range c[status] {
		all += n
	}
	return int(all)
}

// statistics are ECS's, name by name; there are neither services nor Fargate here.
func (c taskCounts) statistics() []keyValue {
	return []keyValue{
		statistic("runningEC2TasksCount", c[spec.Running][launchEC2]),
		statistic("runningFargateTasksCount", 0),
		statistic("runningExternalTasksCount", c[spec.Running][launchExternal]),
		statistic("pendingEC2TasksCount", c[spec.Pending][launchEC2]),
		statistic("pendingFargateTasksCount", 0),
		statistic("pendingExternalTasksCount", c[spec.Pending][launchExternal]),
		statistic("activeEC2ServiceCount", 0),
		statistic("activeFargateServiceCount", 0),
		statistic("activeExternalServiceCount", 0),
		statistic("drainingEC2ServiceCount", 0),
		statistic("drainingFargateServiceCount", 0),
		statistic("drainingExternalServiceCount", 0),
	}
}
