package view

import (
	"cmp"

	"pinion/raftfsm/spec"
)

// healthUnknown is the health of what has no health check, or none that has decided yet.
const healthUnknown = "UNKNOWN"

func containerHealth(c *spec.Container) string { return string(cmp.Or(c.Health, healthUnknown)) }

// taskHealth is ECS's rule: UNHEALTHY when an essential container is, else UNKNOWN when one is, else HEALTHY. Of a task whose
// definition is not known any more it is UNKNOWN.
func taskHealth(t *spec.Task, d *spec.TaskDefinition) string {
	if d == nil {
		return healthUnknown
	}
	health := string(spec.Healthy)
	for i := range d.Containers {
		if !d.Containers[i].IsEssential() {
			continue
		}
		switch found := containerHealthIn(t, d.Containers[i].Name); found {
		case string(spec.Unhealthy):
			return found
		case healthUnknown:
			health = found
		}
	}
	return health
}

func containerHealthIn(t *spec.Task, container string) string {
	for i := range t.Containers {
		if t.Containers[i].Name == container {
			return containerHealth(&t.Containers[i])
		}
	}
	return healthUnknown
}
