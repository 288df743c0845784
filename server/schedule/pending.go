package schedule

import (
	"fmt"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// NewPendingTasks returns the pending tasks of a request: PROVISIONING, and complete except for host and GPUs. They carry the
// constraints and the strategy of the call; those of the definition are read from the definition at placement.
func NewPendingTasks(r Request) []*spec.Task {
	r = alternativesOf(r)[0]
	a := newEvaluation(r)
	wait := &spec.QueueSpec{Constraints: r.Run.Constraints, Strategy: r.Run.Strategy, UnmetDependencies: a.dependencies()}
	none := &gpuGrant{gpus: make([][]string, len(r.Definition.Containers))}
	gang := ""
	if options, _ := spec.ParseSchedulingOptions(r.Run.Tags); options.Gang {
		gang = r.IDs()
	}
	tasks := make([]*spec.Task, 0, r.Run.Count)
	for i := range r.Run.Count {
		task := a.task("", none, spec.Provisioning)
		task.CapacityProvider, task.Queue, task.Hold = r.Run.CapacityProvider, wait, r.Run.Hold
		if gang != "" {
			task.Gang = &spec.GangMember{ID: gang, Rank: i, Size: r.Run.Count}
		}
		if r.Run.ArrayFrom != nil {
			index := *r.Run.ArrayFrom + i
			task.ArrayIndex = &index
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// ClassKey encodes everything that decides whether a task of the request can be placed: when one request of a key finds no
// host, no other request of that key does.
func ClassKey(r Request) string {
	a := newEvaluation(r)
	constraints := slices.Concat(r.Definition.PlacementConstraints, r.Run.Constraints)
	key := a.fingerprint()
	if len(a.options.GPUAlternatives) > 0 {
		key += "\x00" + GPUChoices(a.options)
	}
	if len(constraints) == 0 && len(r.Run.Strategy) == 0 {
		return key
	}
	return fmt.Sprintf("%s\x00%q %q %q", key, constraints, r.Run.Strategy, a.group)
}

// RequestFor asks for the place of one pending task.
func RequestFor(view *raftfsm.View, t *spec.Task, definition *spec.TaskDefinition) Request {
	run := spec.RunRequest{Cluster: t.Cluster, Definition: t.Definition, Count: 1, Group: t.Group, Tags: t.Tags, ByAdmin: t.ByAdmin}
	if t.Queue != nil {
		run.Constraints, run.Strategy = t.Queue.Constraints, t.Queue.Strategy
	}
	return Request{Run: run, Definition: definition, Quiet: true, Rules: view.Cluster(t.Cluster).Rules()}
}
