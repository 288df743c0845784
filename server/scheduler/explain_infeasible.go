package scheduler

import (
	"fmt"
	"sync"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// infeasibility is why no host of a cluster could ever run a task.
type infeasibility struct {
	spec.Failure
	text string // what the task waits for
}

// infeasibilityKey names the tasks that are infeasible for one reason.
type infeasibilityKey struct{ cluster, class string }

// maxInfeasibilities bounds the equivalence classes of an infeasibilityCache.
const maxInfeasibilities = 10_000

// infeasibilityCache remembers the infeasibility of equivalence classes, nil for a feasible one. The queue controller begins
// a new one when a host changes; readers fill it, because each queued task looks at every host.
type infeasibilityCache struct {
	mu    sync.Mutex // held while one is found, so that concurrent readers find it once
	known map[infeasibilityKey]*infeasibility
}

// queuedTask is a pending task with what it takes to find its infeasibility.
type queuedTask struct {
	spec.QueueItem
	view       *raftfsm.View
	infeasible *infeasibilityCache
	task       *spec.Task
	definition *spec.TaskDefinition // effective; nil when it is gone
	item       *queue.Item          // nil: the task is not in the queue
}

// withInfeasibility is the queued task with the infeasibility of its task, or of the whole gang.
func (e *queuedTask) withInfeasibility() spec.QueueItem {
	q := e.QueueItem
	if why := e.infeasibility(); why != nil {
		if q.Infeasible = &why.Failure; e.item != nil {
			q.WaitReason = why.text
		}
	}
	return q
}

// infeasibility is nil when a host could run the task.
func (e *queuedTask) infeasibility() *infeasibility {
	if e.definition == nil {
		return nil
	}
	item := e.item
	if item == nil {
		item = itemOf(e.view, gangOrTask(e.view, e.task), e.definition)
	}
	key := infeasibilityKey{item.Cluster, item.Class}
	e.infeasible.mu.Lock()
	defer e.infeasible.mu.Unlock()
	if known, is := e.infeasible.known[key]; is {
		return known
	}
	request := schedule.RequestFor(e.view, e.task, e.definition)
	request.Run.Count = len(item.Tasks)
	var found *infeasibility
	if failure, infeasible := schedule.Infeasible(e.view.Hosts(e.task.Cluster), request); infeasible {
		found = &infeasibility{failure, waitsForHost(e.view, failure)}
	}
	if e.infeasible.known == nil || len(e.infeasible.known) >= maxInfeasibilities {
		e.infeasible.known = map[infeasibilityKey]*infeasibility{}
	}
	e.infeasible.known[key] = found
	return found
}

// waitsForHost is what an infeasible task waits for.
func waitsForHost(view *raftfsm.View, f spec.Failure) string {
	switch {
	case f.Reason == spec.ReasonMissing:
		return "a host: the cluster has none"
	case f.HostID == "":
		return "another host: no host could ever run it (" + f.Detail + ")"
	}
	return fmt.Sprintf("another host: no host could ever run it (the nearest is %s: %s)", hostName(view, f.HostID), f.Detail)
}
