package schedule

import (
	"cmp"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// RetryTask returns the next attempt of t: a PROVISIONING task in the same queue, or in the built-in one when t had none,
// without t's placement and history. ids returns 32 new hex digits at each call. gang is the new gang id, the same for all
// members because a gang is retried as a whole; "" for a task outside a gang.
func RetryTask(t *spec.Task, ids func() string, gang string, at, notBefore time.Time) *spec.Task {
	wait := spec.QueueSpec{}
	if t.Queue != nil {
		wait = *t.Queue
	}
	wait.NotBefore = notBefore
	again := newTask(t.Cluster, &spec.Demand{CPU: t.CPU, MemoryMiB: t.MemoryMiB, Ports: t.Ports, UDPPorts: t.UDPPorts}, spec.Provisioning, at)
	again.ID, again.Run = ids(), t.Run
	again.Definition, again.Overrides, again.Group = t.Definition, t.Overrides, t.Group
	again.StartedBy, again.LaunchType, again.Tags = t.StartedBy, t.LaunchType, t.Tags
	again.ByAdmin, again.Owner, again.Exec = t.ByAdmin, t.Owner, t.Exec
	again.CapacityProvider, again.Queue, again.ArrayIndex = cmp.Or(t.CapacityProvider, spec.BuiltinCapacityProvider), &wait, t.ArrayIndex
	again.RetryOf, again.Attempt, again.Failed = cmp.Or(t.RetryOf, t.ID), t.Attempt+1, t.Failed
	if t.Gang != nil {
		again.Gang = &spec.GangMember{ID: gang, Rank: t.Gang.Rank, Size: t.Gang.Size}
		if t.Gang.Rank == 0 && t.Gang.Port != 0 {
			again.Ports = slices.DeleteFunc(slices.Clone(t.Ports), func(port int) bool { return port == t.Gang.Port })
		}
	}
	for _, c := range t.Containers {
		again.Containers = append(again.Containers, newContainer(ids(), c.Name, c.Image, spec.Provisioning))
	}
	return again
}

// pendingSpec keeps the placement rules of the call for the task that takes its place: by a retry, by preemption, or because somebody puts it back into
// the queue.
func (a *evaluation) pendingSpec() *spec.QueueSpec {
	if len(a.Run.Constraints)+len(a.Run.Strategy) == 0 {
		return nil
	}
	return &spec.QueueSpec{Constraints: a.Run.Constraints, Strategy: a.Run.Strategy}
}

// dependencies lists the tasks and groups that must end before the tasks may be placed.
func (a *evaluation) dependencies() (words []string) {
	for _, after := range a.options.Dependencies {
		words = append(words, after.String())
	}
	return words
}

// arrayIndex returns the array index of the next task; nil outside an array.
func (a *evaluation) arrayIndex() *int {
	if a.Run.ArrayFrom == nil {
		return nil
	}
	index := *a.Run.ArrayFrom + a.placed
	return &index
}
