package server

import (
	"fmt"
	"slices"

	"pinion/raftfsm/spec"
)

// A host's assignments go over the wire as changes: what it holds is named by its ids and the status that is wanted of
// each, which is all that a host acts on, and only what differs from that is sent. Servers need no memory for it: a host
// that begins a session says what it holds, and any server can tell the difference.

// assignmentDelta is one step of what a host must run.
type assignmentDelta struct {
	Index uint64 `json:"index"` // of the state that it is from
	// Tasks is everything that the host must run; with Changes only what is new or wanted otherwise now. A task that the
	// host holds comes without its definition then, which never changes.
	Tasks       []spec.Assignment `json:"tasks"`
	Removed     []string          `json:"over,omitempty"` // with Changes: ids of tasks that are not the host's any more
	Incremental bool              `json:"changes,omitempty"`
}

// knownAssignments is what a host has been told: the wanted status of each task, by id. Nil is a host that does not say, which
// gets everything each time.
type knownAssignments map[string]spec.Status

// knownFrom is the holding of a host that was told the whole list.
func knownFrom(list []spec.Assignment) knownAssignments {
	holds := make(knownAssignments, len(list))
	for _, a := range list {
		holds[a.Task.ID] = a.Task.DesiredStatus
	}
	return holds
}

// diff is what a host has to be told to get from what it holds to the list.
func (h knownAssignments) diff(list []spec.Assignment, index uint64) assignmentDelta {
	if h == nil {
		return assignmentDelta{Index: index, Tasks: list}
	}
	delta := assignmentDelta{Index: index, Tasks: []spec.Assignment{}, Incremental: true}
	wanted := make(map[string]bool, len(list))
	for _, a := range list {
		wanted[a.Task.ID] = true
		status, known := h[a.Task.ID]
		if known && status == a.Task.DesiredStatus {
			continue
		}
		if known {
			a.Definition = nil
		}
		delta.Tasks = append(delta.Tasks, a)
	}
	for id := range h {
		if !wanted[id] {
			delta.Removed = append(delta.Removed, id)
		}
	}
	slices.Sort(delta.Removed)
	return delta
}

// apply is the whole list of a host that held before, after this step. The error says that the step is one of a host that
// holds something else.
func (a assignmentDelta) apply(before []spec.Assignment) ([]spec.Assignment, error) {
	if !a.Incremental {
		return a.Tasks, nil
	}
	places := make(map[string]int, len(before))
	list := make([]spec.Assignment, 0, len(before)+len(a.Tasks))
	for _, held := range before {
		if !slices.Contains(a.Removed, held.Task.ID) {
			places[held.Task.ID] = len(list)
			list = append(list, held)
		}
	}
	for _, changed := range a.Tasks {
		place, known := places[changed.Task.ID]
		switch {
		case known:
			changed.Definition = list[place].Definition
			list[place] = changed
		case changed.Definition != nil:
			list = append(list, changed)
		default:
			return nil, fmt.Errorf("a change of task %s came, which this host does not hold", changed.Task.ID)
		}
	}
	return list, nil
}
