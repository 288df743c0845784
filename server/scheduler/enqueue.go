package scheduler

import (
	"context"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/id"
	"pinion/server/schedule"
)

const (
	// maxEnqueueRuns is the number of requests that are recorded as pending together at most.
	maxEnqueueRuns = 512
	// maxEnqueueTasks is the number of tasks of one log entry, so that it stays below a megabyte. A request is never divided.
	maxEnqueueTasks = 1000
)

// enqueue answers a batch of requests by recording their tasks as pending; the queue controller places them, at once where
// there is room. Nothing is planned, so nothing can be lost to another change. Of requests with one client token apply
// records the first and answers the others with it.
func (s *Scheduler) enqueue(requests []spec.RunRequest) []runReply {
	t, err := s.writableTerm(context.Background())
	replies := make([]runReply, len(requests))
	if err != nil {
		for i := range replies {
			replies[i].err = err
		}
		return replies
	}
	view, now := s.node.State().View(), s.node.Now()
	s.limit.reset(t, view)
	entry, answered := pendingEntry{node: s.node, term: t}, []*runReply(nil)
	lacks, found := make([]*spec.Failure, len(requests)), &infeasibilityCache{} // of the hosts of the view
	for i, r := range requests {
		definition, before, err := resolve(view, r)
		var tasks []*spec.Task
		if err == nil && before == nil {
			tasks = schedule.NewPendingTasks(schedule.Request{Run: r, Definition: definition, IDs: id.NewTask, At: now,
				SharedMiB: smallestShared(view, r.Cluster, spec.DemandOf(definition).ShareMiB())})
			if lacks[i] = lackOfHosts(view, tasks, definition, found); lacks[i] != nil && tasks[0].SchedulingOptions().NeedsHost {
				before = &spec.RunResult{Failures: slices.Repeat([]spec.Failure{*lacks[i]}, r.Count)}
			}
		}
		if err == nil && before == nil {
			err = s.limit.reserve(r.Cluster, r.Count)
		}
		if err != nil || before != nil {
			if replies[i].err = err; before != nil {
				replies[i].result = *before
			}
			answered = append(answered, &replies[i])
			continue
		}
		entry.add(newLaunch(r, tasks, nil, now), r.Signatures, &replies[i])
	}
	entry.propose()
	for i := range replies {
		if replies[i].err == nil && len(replies[i].result.Tasks) > 0 {
			replies[i].result.Infeasible = lacks[i]
		}
	}
	if len(answered) > 0 && s.node.CheckLeader(t.ctx) != nil { // the view was perhaps not the latest
		for _, reply := range answered {
			*reply = runReply{err: spec.ErrNotLeader}
		}
	}
	return replies
}

// lackOfHosts is why no host of the cluster could ever run new tasks that are alike, or the gang of all of them; nil when one could.
func lackOfHosts(view *raftfsm.View, tasks []*spec.Task, definition *spec.TaskDefinition, found *infeasibilityCache) *spec.Failure {
	if len(tasks) == 0 {
		return nil
	}
	together := tasks[:1]
	if tasks[0].Gang != nil {
		together = tasks
	}
	e := queuedTask{view: view, infeasible: found, task: tasks[0], definition: definition, item: itemOf(view, together, definition)}
	if why := e.infeasibility(); why != nil {
		return &why.Failure
	}
	return nil
}

// pendingEntry collects launches for one log entry.
type pendingEntry struct {
	node    Node
	term    *term
	entry   raftfsm.LaunchTasks
	replies []*runReply // one for each launch
	tasks   int

	signatures []spec.Signature // of the requests
}

// add adds a launch; a full entry is proposed first.
func (e *pendingEntry) add(l raftfsm.Launch, signatures []spec.Signature, reply *runReply) {
	if len(e.replies) > 0 && e.tasks+len(l.Tasks) > maxEnqueueTasks {
		e.propose()
	}
	e.entry.Runs, e.replies, e.tasks = append(e.entry.Runs, l), append(e.replies, reply), e.tasks+len(l.Tasks)
	e.signatures = append(e.signatures, signatures...)
}

// propose records the launches and fills in their replies; the entry is empty then.
func (e *pendingEntry) propose() {
	if len(e.replies) == 0 {
		return
	}
	answer, err := e.node.Propose(spec.WithSignatures(e.term.ctx, e.signatures...), e.entry)
	results, _ := answer.([]raftfsm.LaunchResult)
	for i, reply := range e.replies {
		if reply.err = err; err == nil {
			*reply = runReply{results[i].Result, results[i].Err}
		}
	}
	e.entry, e.signatures, e.replies, e.tasks = raftfsm.LaunchTasks{}, nil, nil, 0
}
