package dispatch

import (
	"fmt"
	"hash/fnv"
	"slices"

	"pinion/raftfsm/spec"
)

// Assignments go over the wire as deltas: a host names the tasks that it knows and the desired state of each, which is
// all that it acts on, and only the difference is sent. Servers need no memory for it: the handshake of a session says
// what the host knows, and any server can tell the difference.

// assignmentDelta is a change of a host's assignments.
type assignmentDelta struct {
	Index uint64 `json:"index"` // of the state that it is from
	// Tasks is every assignment of the host; when Incremental only those that are new or have another desired state. A
	// task that the host knows comes without its definition then, which never changes.
	Tasks       []spec.Assignment `json:"tasks"`
	Removed     []string          `json:"over,omitempty"` // when Incremental: ids of tasks that are not the host's any more
	Incremental bool              `json:"changes,omitempty"`
}

// knownAssignments is the desired state of each task that a host knows, by id. Nil is a host that does not say, which
// gets every assignment each time.
type knownAssignments map[string]desiredState

// desiredState is what a host acts on of a task that it knows: the desired status, and after a space whether it stops without
// waiting for the stop timeouts of its containers, or a hash of its tags, which have its time limit and which its containers may ask for, and whether
// the digests of its run are known, or whether it has drained.
type desiredState string

func desiredStateOf(t *spec.Task) desiredState {
	if t.ForceStop {
		return "STOPPED at once"
	}
	state := desiredState(t.DesiredStatus)
	if t.Drained {
		state += " drained"
	}
	if len(t.Tags) > 0 {
		sum := fnv.New64a()
		for _, tag := range t.Tags {
			fmt.Fprintf(sum, "%s\x00%s\x00", tag.Key, tag.Value) // they have no zero byte
		}
		state += desiredState(fmt.Sprintf(" tags %x", sum.Sum64()))
	}
	if t.Run != "" && t.Resolved() {
		state += " resolved"
	}
	return state
}

// knownFrom is what a host knows that has the whole list.
func knownFrom(list []spec.Assignment) knownAssignments {
	known := make(knownAssignments, len(list))
	for _, a := range list {
		known[a.Task.ID] = desiredStateOf(a.Task)
	}
	return known
}

// diff is the delta from what a host knows to the list.
func (h knownAssignments) diff(list []spec.Assignment, index uint64) assignmentDelta {
	if h == nil {
		return assignmentDelta{Index: index, Tasks: list}
	}
	delta := assignmentDelta{Index: index, Tasks: []spec.Assignment{}, Incremental: true}
	wanted := make(map[string]bool, len(list))
	for _, a := range list {
		wanted[a.Task.ID] = true
		state, known := h[a.Task.ID]
		if known && state == desiredStateOf(a.Task) {
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
	indexes := make(map[string]int, len(before))
	list := make([]spec.Assignment, 0, len(before)+len(a.Tasks))
	for _, held := range before {
		if !slices.Contains(a.Removed, held.Task.ID) {
			indexes[held.Task.ID] = len(list)
			list = append(list, held)
		}
	}
	for _, changed := range a.Tasks {
		index, known := indexes[changed.Task.ID]
		switch {
		case known:
			changed.Definition = list[index].Definition
			list[index] = changed
		case changed.Definition != nil:
			list = append(list, changed)
		default:
			return nil, fmt.Errorf("a change of task %s came, which this host does not hold", changed.Task.ID)
		}
	}
	return list, nil
}
