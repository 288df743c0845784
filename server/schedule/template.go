package schedule

import (
	"pinion/raftfsm/spec"
)

// Template is what tasks that wait ask for alike, read once for all of them. Those of one cluster and of one Shape are of one
// kind. It is for one goroutine at a time.
type Template struct {
	request Request
	eval    *evaluation // nil where each request has to be read anew: what it finds depends on other tasks, or on its seed
}

// TemplateOf is the kind of a request for one of its tasks. Run.Count, Seed and Waiting of the request do not matter.
func TemplateOf(r Request) *Template {
	a := newEvaluation(r)
	if a.terms.Gang || len(r.Run.Strategy) > 0 || a.parse(nil) != nil || !a.isCacheable() {
		a = nil
	}
	return &Template{r, a}
}

// PlanFor is Plan for tasks of a kind that wait: one, or a gang by rank. The decision has them as they are on record, with
// their places; seed is what Request.Seed is.
func (f *HostSet) PlanFor(k *Template, tasks []*spec.Task, seed uint64) Decision {
	c := f.cluster(k.request.Run.Cluster)
	if k.eval == nil {
		r := k.request
		r.Waiting, r.Run.Count, r.Seed = tasks, len(tasks), seed
		return c.decide(r)
	}
	a := k.eval
	a.Waiting, a.Run.Count, a.placed = tasks, len(tasks), 0
	a.fragmentation = c.profile.scorer()
	return c.runRanked(a)
}
