package schedule

import (
	"pinion/raftfsm/spec"
)

// Template is the parsed request that interchangeable pending tasks share: tasks of one cluster with one ClassKey. It is not
// safe for concurrent use.
type Template struct {
	request Request
	eval    *evaluation // nil when each request must be parsed again, because its placement depends on other tasks or on its seed
}

// TemplateOf returns the template of a request for one of its tasks. It ignores Run.Count, Seed and Waiting.
func TemplateOf(r Request) *Template {
	a := newEvaluation(r)
	if a.options.Gang || len(a.options.GPUAlternatives) > 0 || len(r.Run.Strategy) > 0 || a.parse(nil) != nil || !a.isCacheable() {
		a = nil
	}
	return &Template{r, a}
}

// PlanFor plans pending tasks of one template: a single task, or a gang in rank order. The decision holds the recorded tasks
// with their placements added. seed is used as Request.Seed.
func (f *HostSet) PlanFor(k *Template, tasks []*spec.Task, seed uint64) Decision {
	c := f.cluster(k.request.Run.Cluster)
	if k.eval == nil {
		r := k.request
		r.Waiting, r.Run.Count, r.Seed = tasks, len(tasks), seed
		return c.decideFirst(r)
	}
	a := k.eval
	a.Waiting, a.Run.Count, a.placed = tasks, len(tasks), 0
	a.fragmentation = c.profile.scorer()
	c.locateImages(a)
	return c.runRanked(a)
}
