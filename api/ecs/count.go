package ecs

import "pinion/raftfsm"

// taskCount is how many tasks run and wait, by launch type.
type taskCount map[raftfsm.Status]map[string]int64

func countTasks(tasks []*raftfsm.Task) taskCount {
	count := taskCount{raftfsm.Running: {}, raftfsm.Pending: {}}
	for _, task := range tasks {
		switch task.LastStatus {
		case raftfsm.Running:
			count[raftfsm.Running][task.LaunchType]++
		case raftfsm.Provisioning, raftfsm.Pending:
			count[raftfsm.Pending][task.LaunchType]++
		}
	}
	return count
}

func (c taskCount) running() int { return c.sum(raftfsm.Running) }
func (c taskCount) pending() int { return c.sum(raftfsm.Pending) }

func (c taskCount) sum(status raftfsm.Status) int {
	var all int64
	for _, n := range c[status] {
		all += n
	}
	return int(all)
}

// statistics are ECS's, name by name; there are neither services nor Fargate here.
func (c taskCount) statistics() []keyValue {
	return []keyValue{
		number("runningEC2TasksCount", c[raftfsm.Running][launchEC2]),
		number("runningFargateTasksCount", 0),
		number("runningExternalTasksCount", c[raftfsm.Running][launchExternal]),
		number("pendingEC2TasksCount", c[raftfsm.Pending][launchEC2]),
		number("pendingFargateTasksCount", 0),
		number("pendingExternalTasksCount", c[raftfsm.Pending][launchExternal]),
		number("activeEC2ServiceCount", 0),
		number("activeFargateServiceCount", 0),
		number("activeExternalServiceCount", 0),
		number("drainingEC2ServiceCount", 0),
		number("drainingFargateServiceCount", 0),
		number("drainingExternalServiceCount", 0),
	}
}
