package schedule

import (
	"pinion/raftfsm/spec"
)

// Kind is what tasks that wait ask for alike, read once for all of them. Those of one cluster and of one Shape are of one
// kind. It is for one goroutine at a time.
type Kind struct {
	request Request
	ask     *ask // nil where each request has to be read anew: what it finds depends on other tasks, or on its seed
}

// KindOf is the kind of a request for one of its tasks. Run.Count, Seed and Waiting of the request do not matter.
func KindOf(r Request) *Kind {
	a := newAsk(r)
	if a.terms.Gang || len(r.Run.Strategy) > 0 || a.read(nil) != nil || !a.plain() {
		a = nil
	}
	return &Kind{r, a}
}

// PlanFor is Plan for tasks of a kind that wait: one, or a gang by rank. The decision has them as they are on record, with
// their places; seed is what Request.Seed is.
func (f *Fleet) PlanFor(k *Kind, tasks []*spec.Task, seed uint64) Decision {
	c := f.crew(k.request.Run.Cluster)
	if k.ask == nil {
		r := k.request
		r.Waiting, r.Run.Count, r.Seed = tasks, len(tasks), seed
		return c.decide(r)
	}
	a := k.ask
	a.Waiting, a.Run.Count, a.made = tasks, len(tasks), 0
	a.outlook = c.popular.now()
	return c.run(a)
}
