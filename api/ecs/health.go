package ecs

import (
	"cmp"

	"pinion/raftfsm/spec"
)

// healthNone is the health of what has no health check, or none that has decided yet.
const healthNone = "UNKNOWN"

func healthOfContainer(c *spec.Container) string {
	return string(cmp.Or(c.Health, healthNone))
}

// healthOfTask is ECS's rule: UNHEALTHY when an essential container is, else UNKNOWN when one is, else HEALTHY. Of a
// task whose definition is not known any more nothing can be said.
func healthOfTask(t *spec.Task, d *spec.TaskDefinition) string {
	if d == nil {
		return healthNone
	}
	health := string(spec.Healthy)
	for i := range d.Containers {
		if !d.Containers[i].IsEssential() {
			continue
		}
		switch found := healthIn(t, d.Containers[i].Name); found {
		case string(spec.Unhealthy):
			return found
		case healthNone:
			health = found
		}
	}
	return health
}

func healthIn(t *spec.Task, container string) string {
	for i := range t.Containers {
		if t.Containers[i].Name == container {
			return healthOfContainer(&t.Containers[i])
		}
	}
	return healthNone
}
