package dispatch

import (
	"fmt"
	"slices"
	"sync"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// assignmentVersions remembers since which index each host's assignments are as they are. It is only memory, of each
// server for itself: a server that has none answers at once with the same list again, which changes nothing on the host.
// Each host has a lock of its own, so that a host with many tasks delays no other. The zero value is ready.
type assignmentVersions struct {
	mu    sync.Mutex
	hosts map[string]*assignmentVersion

	list func(view *raftfsm.View, hostID string) ([]spec.Assignment, <-chan struct{}) // of tests; nil for View.Assignments
}

// assignmentVersion is a list of assignments, reduced to what a host acts on, and the index at which it was first seen.
type assignmentVersion struct {
	mu    sync.Mutex
	known bool
	index uint64
	tasks []desiredTask
}

type desiredTask struct {
	task    string
	desired desiredState
}

// current reads the host's assignments now, and since when they are so; changed is closed when they may be others.
func (v *assignmentVersions) current(state *raftfsm.State, hostID string, after uint64) (list []spec.Assignment, since uint64, changed <-chan struct{}, err error) {
	version := v.of(hostID)
	version.mu.Lock()
	defer version.mu.Unlock()
	view := state.View()
	if view.Host(hostID) == nil {
		v.forget(hostID)
		return nil, 0, nil, fmt.Errorf("host %s: %w", hostID, spec.ErrNotFound)
	}
	if v.list != nil {
		list, changed = v.list(view, hostID)
	} else {
		list, changed = view.Assignments(hostID)
	}
	var tasks []desiredTask
	for _, a := range list {
		tasks = append(tasks, desiredTask{a.Task.ID, desiredStateOf(a.Task)})
	}
	if !version.known || version.index < after || !slices.Equal(version.tasks, tasks) {
		version.known, version.index, version.tasks = true, view.Index(), tasks
	}
	return list, version.index, changed, nil
}

func (v *assignmentVersions) of(hostID string) *assignmentVersion {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hosts == nil {
		v.hosts = make(map[string]*assignmentVersion)
	}
	if v.hosts[hostID] == nil {
		v.hosts[hostID] = new(assignmentVersion)
	}
	return v.hosts[hostID]
}

// forget drops what is remembered of a host whose session has ended, or that the pool does not know.
func (v *assignmentVersions) forget(hostID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.hosts, hostID)
}
