package server

import (
	"fmt"
	"sync"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// lack is what the hosts of a cluster lack for tasks that none of them could ever run.
type lack struct {
	spec.Failure
	words string // what such tasks wait for
}

// lackKey is what tasks have in common that lack the same.
type lackKey struct{ cluster, shape string }

// mostLacks is of how many shapes it is remembered what they lack.
const mostLacks = 10_000

// lacks remembers what was found, nil for what hosts could run: many tasks ask for the same. placeLoop begins a new one
// when a host changes, and leaves the rest to those who ask, because finding one is a look at every host.
type lacks struct {
	mu    sync.Mutex // also while one is being found, so that those who ask together find it once
	known map[lackKey]*lack
}

// entry is a task of the queue as placeLoop knows it, with what it takes to find out what it lacks.
type entry struct {
	spec.Queued
	view       *raftfsm.View
	lacks      *lacks
	task       *spec.Task
	definition *spec.TaskDefinition // nil when it is gone
	item       *queue.Item          // nil unless the task is in line
}

// complete is the entry with what its task lacks, or the whole gang, if hosts could never run it. Not for placeLoop.
func (e *entry) complete() spec.Queued {
	q := e.Queued
	if lack := e.lack(); lack != nil {
		if q.Impossible = &lack.Failure; e.item != nil {
			q.WaitsFor = lack.words
		}
	}
	return q
}

// lack is what the task lacks; nil when hosts could run it.
func (e *entry) lack() *lack {
	if e.definition == nil {
		return nil
	}
	item := e.item
	if item == nil {
		item = itemOf(e.view, unitOf(e.view, e.task), e.definition)
	}
	of := lackKey{item.Cluster, item.Shape}
	e.lacks.mu.Lock()
	defer e.lacks.mu.Unlock()
	if known, is := e.lacks.known[of]; is {
		return known
	}
	request := requestFor(e.task, e.definition)
	request.Run.Count = len(item.Tasks)
	var found *lack
	if failure, impossible := schedule.Impossible(e.view.Hosts(e.task.Cluster), request); impossible {
		found = &lack{failure, waitsForHost(e.view, failure)}
	}
	if e.lacks.known == nil || len(e.lacks.known) >= mostLacks {
		e.lacks.known = map[lackKey]*lack{}
	}
	e.lacks.known[of] = found
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
