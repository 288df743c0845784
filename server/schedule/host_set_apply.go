package schedule

import (
	"pinion/raftfsm"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// HostSetOf builds the host set of a view, pending tasks included. connected reports which hosts have a recent heartbeat; a
// lost host counts as disconnected.
func HostSetOf(view *raftfsm.View, connected func(hostID string) bool) *HostSet {
	f := HostsOf(view, "", connected)
	for task := range view.QueuedTasks("") {
		f.AddPending(task, demandOf(view, task))
	}
	return f
}

// HostsOf builds a host set for queries: the hosts of one cluster, or all hosts when cluster is empty, without pending tasks.
func HostsOf(view *raftfsm.View, cluster string, connected func(hostID string) bool) *HostSet {
	f := NewHostSet()
	f.listenerPorts, f.daemons = loadbalancer.Ports(view), criticalDaemonsOf(view)
	for _, host := range view.Hosts(cluster) {
		tasks := func() []*spec.Task { return view.TasksOn(host.ID) }
		f.add(Host{Host: host, Free: view.Free(host.ID), listenerPorts: f.listenerPorts, daemons: daemonsFor(host, f.daemons), Connected: connected(host.ID), Tasks: tasks})
	}
	return f
}

// Apply applies changes of the state. The view must be as new as the changes, or newer.
func (f *HostSet) Apply(view *raftfsm.View, changes []*raftfsm.Change, connected func(hostID string) bool) {
	for _, change := range changes {
		switch {
		case change.Kind == raftfsm.HostChange && change.Deleted:
			f.RemoveHost(change.Host().ID)
		case change.Kind == raftfsm.HostChange:
			f.PutHost(change.Host(), connected(change.Host().ID))
		case change.Kind == raftfsm.ServiceChange:
			if change.Object.(*service.Service).IsDaemon() {
				f.setCriticalDaemons(view)
			}
		case change.Kind == raftfsm.TaskChange && change.Task().LastStatus == spec.Provisioning:
			f.AddPending(change.Task(), demandOf(view, change.Task()))
		case change.Kind == raftfsm.TaskChange:
			f.PutTask(change.Task())
		}
	}
}

// RefreshLiveness checks again the hosts that were disconnected at the last check, or every host when all is set.
func (f *HostSet) RefreshLiveness(connected func(hostID string) bool, all bool) {
	among := f.disconnected
	if all {
		among = f.hosts
	}
	for _, h := range among {
		f.setConnected(h, connected(h.Host.ID))
	}
}

// RefreshImages asks again what images the hosts have, as SetImages takes it.
func (f *HostSet) RefreshImages(imagesOf func(hostID string) *blob.Images) {
	for id := range f.hosts {
		f.SetImages(id, imagesOf(id))
	}
}

// demandOf returns the demand of a pending task. Its definition exists: a definition is kept while a task refers to it.
func demandOf(view *raftfsm.View, t *spec.Task) spec.Demand {
	definition := view.Definition(t.Definition)
	if definition == nil {
		return spec.Demand{}
	}
	return spec.DemandOf(spec.Effective(definition, t.Overrides.Get()))
}
