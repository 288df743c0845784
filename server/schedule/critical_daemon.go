package schedule

import (
	"fmt"
	"slices"
	"strings"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// criticalDaemon is a daemon without which its hosts take no tasks but those of daemons.
type criticalDaemon struct {
	id, title string
	request   Request // for one of its tasks
}

// criticalDaemonsOf are those of a view, by cluster.
func criticalDaemonsOf(view *raftfsm.View) map[string][]*criticalDaemon {
	all := map[string][]*criticalDaemon{}
	for _, s := range view.Services("") {
		if s.Status != service.Active || !view.ServiceRevision(s.Primary().ID).IsCritical() {
			continue
		}
		if r, known := DaemonRequest(view, s); known {
			all[s.Cluster] = append(all[s.Cluster], &criticalDaemon{s.ID, s.Title(), r})
		}
	}
	return all
}

// DaemonRequest asks for a place of one task of a service of the strategy DAEMON; false when its definition is gone.
func DaemonRequest(view *raftfsm.View, s *service.Service) (Request, bool) {
	definition := view.Definition(s.Primary().Definition)
	if definition == nil {
		return Request{}, false
	}
	constraints := slices.Concat(s.Settings.Constraints, view.ServiceRevision(s.Primary().ID).Constraints())
	run := spec.RunRequest{Cluster: s.Cluster, Definition: definition.Name(), Count: 1, Group: s.Group(), ByAdmin: s.ByAdmin, Constraints: constraints}
	return Request{Run: run, Definition: definition, Rules: view.Cluster(s.Cluster).Rules()}, true
}

// setCriticalDaemons has the hosts wait for the critical daemons of a view, in place of the previous ones.
func (f *HostSet) setCriticalDaemons(view *raftfsm.View) {
	before := f.daemons
	if f.daemons = criticalDaemonsOf(view); len(before)+len(f.daemons) == 0 {
		return
	}
	for _, h := range f.hosts {
		h.daemons = daemonsFor(h.Host, f.daemons)
		f.cluster(h.Host.Cluster).markChanged(h)
	}
}

// daemonsFor are the critical daemons that a host could run.
func daemonsFor(host *spec.Host, all map[string][]*criticalDaemon) (daemons []*criticalDaemon) {
	for _, d := range all[host.Cluster] {
		if _, impossible := Infeasible([]*spec.Host{host}, d.request); !impossible {
			daemons = append(daemons, d)
		}
	}
	return daemons
}

// daemonsFirst keeps other tasks off a host until its critical daemons run there.
func daemonsFirst(a *evaluation, h *Host) (reason, detail string) {
	if len(h.daemons) == 0 || isOfDaemon(a.group) {
		return "", ""
	}
	for _, d := range h.daemons {
		if !slices.ContainsFunc(h.tasks, d.runsAs) {
			return spec.ReasonInactive, fmt.Sprintf("the host waits for %s, which is critical, to run there", d.title)
		}
	}
	return "", ""
}

// isOfDaemon reports whether the tasks of a group are those of a daemon.
func isOfDaemon(group string) bool { return strings.HasPrefix(group, service.DaemonGroupPrefix) }

// runsAs reports whether a task of a host is the daemon, and runs.
func (d *criticalDaemon) runsAs(t *spec.Task) bool {
	return t.Service != nil && t.Service.ID == d.id && t.LastStatus == spec.Running && t.DesiredStatus == spec.Running
}

// sameForDaemons reports whether two versions of one task of a host say the same of its critical daemons.
func (h *Host) sameForDaemons(a, b *spec.Task) bool {
	return !slices.ContainsFunc(h.daemons, func(d *criticalDaemon) bool { return d.runsAs(a) != d.runsAs(b) })
}
