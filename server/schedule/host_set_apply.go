package schedule

import (
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// HostSetOf makes the host set of everything in the view. connected reports which hosts were heard of lately; a lost host
// counts as disconnected.
func HostSetOf(view *raftfsm.View, connected func(hostID string) bool) *HostSet {
	f := HostsOf(view, "", connected)
	for task := range view.QueuedTasks("") {
		f.AddPending(task, demandOf(view, task))
	}
	return f
}

// HostsOf is HostSetOf for questions: it has the hosts of one cluster, of all when it is empty, and no pending tasks.
func HostsOf(view *raftfsm.View, cluster string, connected func(hostID string) bool) *HostSet {
	f := NewHostSet()
	for _, host := range view.Hosts(cluster) {
		tasks := func() []*spec.Task { return view.TasksOn(host.ID) }
		f.add(Host{Host: host, Free: view.Free(host.ID), Connected: connected(host.ID), Tasks: tasks})
	}
	return f
}

// Apply takes in what changed. The view is of the changes or later.
func (f *HostSet) Apply(view *raftfsm.View, changes []*raftfsm.Change, connected func(hostID string) bool) {
	for _, change := range changes {
		switch {
		case change.Kind == raftfsm.HostChange && change.Deleted:
			f.RemoveHost(change.Host().ID)
		case change.Kind == raftfsm.HostChange:
			f.PutHost(change.Host(), connected(change.Host().ID))
		case change.Kind == raftfsm.TaskChange && change.Task().LastStatus == spec.Provisioning:
			f.AddPending(change.Task(), demandOf(view, change.Task()))
		case change.Kind == raftfsm.TaskChange:
			f.PutTask(change.Task())
		}
	}
}

// RefreshLiveness asks again about the hosts that were not connected when they were asked about last, and with all about every host.
func (f *HostSet) RefreshLiveness(connected func(hostID string) bool, all bool) {
	among := f.disconnected
	if all {
		among = f.hosts
	}
	for _, h := range among {
		f.setConnected(h, connected(h.Host.ID))
	}
}

// demandOf is what a task that waits will take. A definition is there as long as a task of it is.
func demandOf(view *raftfsm.View, t *spec.Task) spec.Demand {
	definition := view.Definition(t.Definition)
	if definition == nil {
		return spec.Demand{}
	}
	return spec.DemandOf(spec.Effective(definition, t.Overrides))
}
