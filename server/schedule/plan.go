package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm"
)

// Host is a host as the planner sees it.
type Host struct {
	Host      *raftfsm.Host
	Free      raftfsm.Free // what its tasks leave
	Connected bool         // heard of lately
	// Tasks are the host's, STOPPED ones or not. It is asked at most once, and only for requests whose constraints or
	// strategy depend on what runs where. Nil: there are none.
	Tasks func() []*raftfsm.Task

	placed []*raftfsm.Task // by this plan, or everything once Tasks was asked
}

// tasks are those that were there and those that this plan has placed.
func (h *Host) tasks() []*raftfsm.Task {
	if h.Tasks != nil {
		h.placed, h.Tasks = slices.Concat(h.Tasks(), h.placed), nil
	}
	return h.placed
}

// Request is one RunTask or StartTask to find places for.
type Request struct {
	Run        raftfsm.RunRequest
	Definition *raftfsm.TaskDefinition // effective: Run.Overrides are merged
	IDs        func() string           // a new id of 32 hex digits with each call; asked only for tasks that are placed
	At         time.Time               // CreatedAt of the tasks
	Seed       uint64                  // what strategy random draws from
}

// Decision is the outcome of one request. Partial success is normal: Tasks are placed and complete, ready to be
// recorded; Failures explain the rest.
type Decision struct {
	Tasks    []*raftfsm.Task
	Failures []raftfsm.Failure
	Err      error // raftfsm.ErrNoHosts, or what of the request nobody can read; nothing was considered then
}

// mostFailures is where a request stops repeating the failures of its first unplaced task for the others.
const mostFailures = 100

// Plan decides the requests in their order; each sees what the ones before it take. Hosts of all clusters may be
// given; a request considers those of its own. The arguments are not changed.
func Plan(hosts []Host, requests []Request) []Decision {
	fleet := fleetOf(hosts)
	decisions := make([]Decision, 0, len(requests))
	for _, request := range requests {
		decisions = append(decisions, fleet.decide(request))
	}
	return decisions
}

// fleet holds the hosts of each cluster by host id. They are the plan's own copies: Free is what the decisions so far
// leave.
type fleet map[string][]*Host

func fleetOf(hosts []Host) fleet {
	f := fleet{}
	for _, host := range hosts {
		f[host.Host.Cluster] = append(f[host.Host.Cluster], &host)
	}
	for _, inCluster := range f {
		slices.SortFunc(inCluster, func(a, b *Host) int { return cmp.Compare(a.Host.ID, b.Host.ID) })
	}
	return f
}

func (f fleet) decide(r Request) Decision {
	hosts := f[r.Run.Cluster]
	if len(r.Run.Hosts) > 0 {
		return start(hosts, newAsk(r))
	}
	if len(hosts) == 0 {
		return Decision{Err: fmt.Errorf("cluster %s: %w", r.Run.Cluster, raftfsm.ErrNoHosts)}
	}
	return run(hosts, newAsk(r))
}

// run places the tasks one by one, each on the best host that is left for it.
func run(hosts []*Host, a *ask) Decision {
	var decision Decision
	if decision.Err = a.read(hosts); decision.Err != nil {
		return decision
	}
	options := make([]option, len(hosts))
	for i, host := range hosts {
		options[i] = a.consider(host, runFilters)
	}
	for len(decision.Tasks) < a.Run.Count {
		best := a.best(options)
		if best == nil {
			decision.Failures = failures(options, a.Run.Count-len(decision.Tasks))
			break
		}
		if task := a.place(best); task != nil {
			decision.Tasks = append(decision.Tasks, task)
			*best = a.consider(best.host, runFilters) // the next task finds less there
			for _, s := range a.strategy {
				s.took(best.host)
			}
		}
	}
	return decision
}

// failures explains the tasks without a place: one entry for each host considered, repeated for each task.
func failures(options []option, unplaced int) []raftfsm.Failure {
	var all []raftfsm.Failure
	for task := range unplaced {
		if task > 0 && len(all)+len(options) > mostFailures {
			break
		}
		for _, o := range options {
			all = append(all, o.refusal)
		}
	}
	return all
}

// start places one task on each named host, which is the caller's choice: constraints do not count, resources do.
func start(hosts []*Host, a *ask) Decision {
	var decision Decision
	for _, id := range a.Run.Hosts {
		at, known := slices.BinarySearchFunc(hosts, id, func(h *Host, id string) int {
			return cmp.Compare(h.Host.ID, id)
		})
		if !known {
			missing := raftfsm.Failure{HostID: id, Reason: raftfsm.ReasonMissing, Detail: "no such host in cluster " + a.Run.Cluster}
			decision.Failures = append(decision.Failures, missing)
			continue
		}
		chosen := a.consider(hosts[at], startFilters)
		if task := a.place(&chosen); task != nil {
			decision.Tasks = append(decision.Tasks, task)
		} else {
			decision.Failures = append(decision.Failures, chosen.refusal)
		}
	}
	return decision
}
