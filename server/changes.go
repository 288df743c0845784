package server

import (
	"fmt"
	"slices"

	"pinion/raftfsm/spec"
)

// A host's assignments go over the wire as changes: what it holds is named by its ids and the status that is wanted of
// each, which is all that a host acts on, and only what differs from that is sent. Servers need no memory for it: a host
// that begins a session says what it holds, and any server can tell the difference.

// assignments is one step of what a host must run.
type assignments struct {
	Index uint64 `json:"index"` // of the state that it is from
	// Tasks is everything that the host must run; with Changes only what is new or wanted otherwise now. A task that the
	// host holds comes without its definition then, which never changes.
	Tasks   []spec.Assignment `json:"tasks"`
	Over    []string          `json:"over,omitempty"` // with Changes: ids of tasks that are not the host's any more
	Changes bool              `json:"changes,omitempty"`
}

// holding is what a host has been told: the wanted status of each task, by id. Nil is a host that does not say, which
// gets everything each time.
type holding map[string]spec.Status

// holdingOf is the holding of a host that was told the whole list.
func holdingOf(list []spec.Assignment) holding {
	holds := make(holding, len(list))
	for _, a := range list {
		holds[a.Task.ID] = a.Task.DesiredStatus
	}
	return holds
}

// stepTo is what a host has to be told to get from what it holds to the list.
func (h holding) stepTo(list []spec.Assignment, index uint64) assignments {
	if h == nil {
		return assignments{Index: index, Tasks: list}
	}
	step := assignments{Index: index, Tasks: []spec.Assignment{}, Changes: true}
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
		step.Tasks = append(step.Tasks, a)
	}
	for id := range h {
		if !wanted[id] {
			step.Over = append(step.Over, id)
		}
	}
	slices.Sort(step.Over)
	return step
}

// from is the whole list of a host that held before, after this step. The error says that the step is one of a host that
// holds something else.
func (a assignments) from(before []spec.Assignment) ([]spec.Assignment, error) {
	if !a.Changes {
		return a.Tasks, nil
	}
	places := make(map[string]int, len(before))
	list := make([]spec.Assignment, 0, len(before)+len(a.Tasks))
	for _, held := range before {
		if !slices.Contains(a.Over, held.Task.ID) {
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
