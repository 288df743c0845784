package schedule

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// Request is one RunTask or StartTask to be placed.
type Request struct {
	Run        spec.RunRequest
	Definition *spec.TaskDefinition // effective: Run.Overrides are merged
	IDs        func() string        // returns a new id of 32 hex digits; called only for placed tasks
	At         time.Time            // CreatedAt of the tasks
	Seed       uint64               // seed of the strategy random and of gang ports
	Quiet      bool                 // leave out Failures that cost more than the decision
	Rules      spec.ClusterRules
	SharedMiB  int64        // memory of the smallest GPU of the cluster that its tasks could share: what they count for while they wait; 0: not known
	Waiting    []*spec.Task // the Run.Count pending tasks to place, by rank; empty: make new tasks
	gpuModel   string       // of the alternative that this is about, see alternativesOf; empty: any
}

// Decision is the outcome of one request. Partial success is normal: Tasks are placed and complete, ready to be
// recorded; Failures explain the rest.
type Decision struct {
	Tasks    []*spec.Task
	Failures []spec.Failure
	Err      error // spec.ErrNoHosts, or a part of the request that cannot be parsed; no host was evaluated then
}

// maxFailures bounds the failures of a request: those of the first unplaced task are repeated for the others up to it.
const maxFailures = 100

// PlanOn decides the requests in order; each sees the resources that earlier ones took. hosts may be of several clusters: a
// request considers those of its own cluster. The arguments are not modified.
func PlanOn(hosts []Host, requests []Request) []Decision {
	f := NewHostSet()
	for _, host := range hosts {
		f.add(host)
	}
	return f.Plan(requests)
}

// decideFirst places the tasks of a request, each on the first of its alternatives that has room.
func (c *clusterHosts) decideFirst(r Request) (all Decision) {
	var refused [][]spec.Failure // by alternative
	for _, one := range alternativesOf(r) {
		d := c.decide(without(one, all.Tasks))
		all.Tasks = append(all.Tasks, d.Tasks...)
		refused = append(refused, d.Failures)
		if all.Err = d.Err; d.Err != nil || len(all.Tasks) == sizeOf(r.Run) {
			break
		}
	}
	all.Failures = failuresOf(r, refused)
	if len(r.Waiting) == 0 {
		for _, task := range all.Tasks {
			task.Run = all.Tasks[0].Run // those of all alternatives are one run
		}
	}
	return all
}

// decide places the tasks of a request that has no alternatives, or is one.
func (c *clusterHosts) decide(r Request) Decision {
	a := newEvaluation(r)
	if len(r.Run.Hosts) > 0 {
		_ = a.parse(nil) // constraints are skipped, also wrong ones, but for those on GPUs: they select among the host's
		return c.allOrNothing(a, c.runOnHosts(a))
	}
	if len(c.hosts) == 0 {
		return Decision{Err: fmt.Errorf("cluster %s: %w", r.Run.Cluster, spec.ErrNoHosts)}
	}
	if err := a.parse(c.hosts); err != nil {
		return Decision{Err: err}
	}
	a.fragmentation = c.profile.scorer()
	c.locateImages(a)
	switch {
	case a.options.Gang && len(a.strategy) == 0:
		return c.allOrNothing(a, c.runGang(a))
	case a.isCacheable():
		return c.runRanked(a)
	}
	return c.allOrNothing(a, c.runFullScan(a))
}

// runRanked places the tasks one by one, each on the best host of the cached ranking.
func (c *clusterHosts) runRanked(a *evaluation) Decision {
	var decision Decision
	b := c.ranking(a)
	for len(decision.Tasks) < a.Run.Count {
		best := b.best()
		if best == nil {
			if !a.Quiet {
				decision.Failures = failures(b.hosts, a.Run.Count-len(decision.Tasks))
			}
			break
		}
		if task := a.place(best.host); task != nil {
			decision.Tasks = append(decision.Tasks, task)
			c.assume(best.host, task)
			c.refresh(b, a) // the host now has less room for the next task
		} else {
			b.set(best.host.at, rankedHost{host: best.host, refusal: refuseSplitGPUs(best.host)})
		}
	}
	return decision
}

// runFullScan places tasks of a request that is not cacheable: it evaluates every host, because each placed task may change
// the score of every host.
func (c *clusterHosts) runFullScan(a *evaluation) Decision {
	var decision Decision
	options := a.rankAll(c.hosts, runFilters)
	for len(decision.Tasks) < a.Run.Count {
		best := a.best(options)
		if best == nil {
			decision.Failures = failures(options, a.Run.Count-len(decision.Tasks))
			break
		}
		task := a.place(best.host)
		if task == nil {
			best.refusal = refuseSplitGPUs(best.host)
			continue
		}
		decision.Tasks = append(decision.Tasks, task)
		c.assume(best.host, task)
		*best = a.rank(best.host, runFilters)
		for _, s := range a.strategy {
			s.took(best.host)
		}
	}
	return decision
}

// failures explains the unplaced tasks: one entry for each evaluated host, repeated for each task up to maxFailures.
func failures(options []rankedHost, unplaced int) []spec.Failure {
	var all []spec.Failure
	for task := range unplaced {
		if task > 0 && len(all)+len(options) > maxFailures {
			break
		}
		all = slices.Grow(all, len(options))
		for i := range options {
			all = append(all, options[i].refusal)
		}
	}
	return all
}

// runOnHosts places one task on each named host (StartTask): constraints are skipped, resources are checked.
func (c *clusterHosts) runOnHosts(a *evaluation) Decision {
	var decision Decision
	for _, id := range a.Run.Hosts {
		at, known := c.find(id)
		if !known {
			missing := spec.Failure{HostID: id, Reason: spec.ReasonMissing, Detail: "no such host in cluster " + a.Run.Cluster}
			decision.Failures = append(decision.Failures, missing)
			continue
		}
		host := c.hosts[at]
		if refusal, refused := a.refusal(host, startFilters); refused {
			decision.Failures = append(decision.Failures, refusal)
		} else if task := a.place(host); task != nil {
			decision.Tasks = append(decision.Tasks, task)
			c.assume(host, task)
		} else {
			decision.Failures = append(decision.Failures, refuseSplitGPUs(host))
		}
	}
	return decision
}
