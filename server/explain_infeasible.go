package server

import (
	"fmt"
	"sync"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// infeasibility is what the hosts of a cluster lack for tasks that none of them could ever run.
type infeasibility struct {
	spec.Failure
	text string // what such tasks wait for
}

// infeasibilityKey is what tasks have in common that lack the same.
type infeasibilityKey struct{ cluster, shape string }

// maxInfeasibilities is of how many shapes it is remembered what they lack.
const maxInfeasibilities = 10_000

// infeasibilityCache remembers what was found, nil for what hosts could run: many tasks ask for the same. placeLoop begins a new one
// when a host changes, and leaves the rest to those who ask, because finding one is a look at every host.
type infeasibilityCache struct {
	mu    sync.Mutex // also while one is being found, so that those who ask together find it once
	known map[infeasibilityKey]*infeasibility
}

// queueEntry is a task of the queue as placeLoop knows it, with what it takes to find out what it lacks.
type queueEntry struct {
	spec.QueueItem
	view       *raftfsm.View
	infeasible *infeasibilityCache
	task       *spec.Task
	definition *spec.TaskDefinition // nil when it is gone
	item       *queue.Item          // nil unless the task is in line
}

// withInfeasibility is the entry with what its task lacks, or the whole gang, if hosts could never run it. Not for placeLoop.
func (e *queueEntry) withInfeasibility() spec.QueueItem {
	q := e.QueueItem
	if lack := e.infeasibility(); lack != nil {
		if q.Infeasible = &lack.Failure; e.item != nil {
			q.WaitReason = lack.text
		}
	}
	return q
}

// infeasibility is what the task lacks; nil when hosts could run it.
func (e *queueEntry) infeasibility() *infeasibility {
	if e.definition == nil {
		return nil
	}
	item := e.item
	if item == nil {
		item = itemOf(e.view, gangOrTask(e.view, e.task), e.definition)
	}
	of := infeasibilityKey{item.Cluster, item.Class}
	e.infeasible.mu.Lock()
	defer e.infeasible.mu.Unlock()
	if known, is := e.infeasible.known[of]; is {
		return known
	}
	request := requestFor(e.task, e.definition)
	request.Run.Count = len(item.Tasks)
	var found *infeasibility
	if failure, impossible := schedule.Infeasible(e.view.Hosts(e.task.Cluster), request); impossible {
		found = &infeasibility{failure, waitsForHost(e.view, failure)}
	}
	if e.infeasible.known == nil || len(e.infeasible.known) >= maxInfeasibilities {
		e.infeasible.known = map[infeasibilityKey]*infeasibility{}
	}
	e.infeasible.known[of] = found
	return found
}

// waitsForHost is what a task waits for that no host could ever run.
func waitsForHost(view *raftfsm.View, f spec.Failure) string {
	switch {
	case f.Reason == spec.ReasonMissing:
		return "a host: the cluster has none"
	case f.HostID == "":
		return "another host: none could ever run it (" + f.Detail + ")"
	}
	return fmt.Sprintf("another host: none could ever run it (%s is nearest: %s)", hostName(view, f.HostID), f.Detail)
}
