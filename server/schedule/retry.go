package schedule

import (
	"cmp"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// RetryTask is a task that does anew what t did: PROVISIONING, in the same queue, or in the built-in one when t was run through
// none. It has nothing of t's place and life. ids gives 32 hex digits at each call. A gang is done again as a whole: the
// others of the gang are given the same gang id; "" for a task that is in none.
func RetryTask(t *spec.Task, ids func() string, gang string, at, notBefore time.Time) *spec.Task {
	wait := spec.QueueSpec{}
	if t.Queue != nil {
		wait = *t.Queue
	}
	wait.NotBefore = notBefore
	again := &spec.Task{
		ID:               ids(),
		Cluster:          t.Cluster,
		Definition:       t.Definition,
		Group:            t.Group,
		StartedBy:        t.StartedBy,
		LaunchType:       t.LaunchType,
		Overrides:        t.Overrides,
		CPU:              t.CPU,
		MemoryMiB:        t.MemoryMiB,
		Ports:            t.Ports,
		UDPPorts:         t.UDPPorts,
		LastStatus:       spec.Provisioning,
		DesiredStatus:    spec.Running,
		Tags:             t.Tags,
		Version:          1,
		CreatedAt:        at,
		CapacityProvider: cmp.Or(t.CapacityProvider, spec.BuiltinCapacityProvider),
		Queue:            &wait,
		ArrayIndex:       t.ArrayIndex,
		RetryOf:          cmp.Or(t.RetryOf, t.ID),
		Attempt:          t.Attempt + 1,
		Failed:           t.Failed,
	}
	if t.Gang != nil {
		again.Gang = &spec.GangMember{ID: gang, Rank: t.Gang.Rank, Size: t.Gang.Size}
		if t.Gang.Rank == 0 && t.Gang.Port != 0 {
			again.Ports = slices.DeleteFunc(slices.Clone(t.Ports), func(port int) bool { return port == t.Gang.Port })
		}
	}
	for _, c := range t.Containers {
		again.Containers = append(again.Containers, spec.Container{
			ID: uuid(ids()), Name: c.Name, Image: c.Image, LastStatus: spec.Provisioning})
	}
	return again
}

// pendingSpec is what the call says of places, for a task that may have to wait for another one later.
func (a *evaluation) pendingSpec() *spec.QueueSpec {
	mayWait := a.terms.Retries > 0 || a.terms.Preemptible
	if !mayWait || len(a.Run.Constraints)+len(a.Run.Strategy) == 0 {
		return nil
	}
	return &spec.QueueSpec{Constraints: a.Run.Constraints, Strategy: a.Run.Strategy}
}

// dependencies is what has to end before the tasks may have places.
func (a *evaluation) dependencies() (words []string) {
	for _, after := range a.terms.Dependencies {
		words = append(words, after.String())
	}
	return words
}

// arrayIndex is the number of the next task, in an array.
func (a *evaluation) arrayIndex() *int {
	if !a.Run.Array {
		return nil
	}
	index := a.Run.ArrayFrom + a.placed
	return &index
}
