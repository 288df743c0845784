package view

import (
	"strconv"

	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

// taskCounts are how many tasks run and wait, by launch type.
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

// statistics are ECS's, name by name. Nothing here runs on Fargate.
func (c taskCounts) statistics() []types.KeyValuePair {
	return []types.KeyValuePair{
		statistic("runningEC2TasksCount", c[spec.Running][LaunchTypeEC2]),
		statistic("runningFargateTasksCount", 0),
		statistic("runningExternalTasksCount", c[spec.Running][LaunchTypeExternal]),
		statistic("pendingEC2TasksCount", c[spec.Pending][LaunchTypeEC2]),
		statistic("pendingFargateTasksCount", 0),
		statistic("pendingExternalTasksCount", c[spec.Pending][LaunchTypeExternal]),
	}
}

// capacityStatistics sum what the hosts of a cluster have and have left. These statistics are Pinion's own.
func (r *Renderer) capacityStatistics(cluster string) []types.KeyValuePair {
	var cpu, memory, gpus, freeCPU, freeMemory, freeGPUs int64
	for _, host := range r.View.Hosts(cluster) {
		free := r.View.Free(host.ID)
		cpu, memory, gpus = cpu+host.CPU, memory+host.MemoryMiB, gpus+int64(len(host.GPUs.Devices))
		freeCPU, freeMemory, freeGPUs = freeCPU+free.CPU, freeMemory+free.MemoryMiB, freeGPUs+int64(len(free.GPUs))
	}
	return []types.KeyValuePair{
		statistic("registeredCPU", cpu), statistic("remainingCPU", freeCPU),
		statistic("registeredMemory", memory), statistic("remainingMemory", freeMemory),
		statistic("registeredGPU", gpus), statistic("remainingGPU", freeGPUs),
	}
}

func statistic(name string, n int64) types.KeyValuePair {
	return types.KeyValuePair{Name: name, Value: strconv.FormatInt(n, 10)}
}
