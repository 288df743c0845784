package ecs

import (
	"strconv"

	"pinion/raftfsm/spec"
)

// taskAttributes says of a task what ECS has no members for: its seat in a gang, its number in an array, and which attempt
// it is at the work of what task, how many of those before failed (the others gave way).
func taskAttributes(t *spec.Task) []spec.Attribute {
	all := []spec.Attribute{}
	add := func(name, value string) { all = append(all, spec.Attribute{Name: name, Value: value}) }
	if t.Gang != nil {
		add("pinion.gang", t.Gang.ID)
		add("pinion.rank", strconv.Itoa(t.Gang.Rank))
	}
	if t.ArrayIndex != nil {
		add("pinion.array-index", strconv.Itoa(*t.ArrayIndex))
	}
	if t.RetryOf != "" {
		add("pinion.retry-of", t.RetryOf)
		add("pinion.attempt", strconv.Itoa(t.Attempt))
		add("pinion.failed", strconv.Itoa(t.Failed))
	}
	return all
}
