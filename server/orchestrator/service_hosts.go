package orchestrator

import (
	"fmt"
	"maps"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/rollout"
)

// hostAsker answers what hosts say to tasks of services.
type hostAsker struct {
	view        *raftfsm.View
	schedulable func(hostID string) bool
}

// infeasible is why no host that takes tasks now could run one that waits, however empty; empty when one could.
func (a *hostAsker) infeasible(t *spec.Task) string {
	return a.lack(t, slices.DeleteFunc(a.view.Hosts(t.Cluster), func(h *spec.Host) bool { return !takesTasks(h) || !a.schedulable(h.ID) }))
}

func (a *hostAsker) lack(t *spec.Task, hosts []*spec.Host) string {
	definition := a.view.Definition(t.Definition)
	if definition == nil {
		return fmt.Sprintf("the task definition %s is gone", t.Definition)
	}
	lack, impossible := schedule.Infeasible(hosts, schedule.RequestFor(a.view, t, definition))
	if !impossible {
		return ""
	}
	return lack.Detail
}

// takesTasks reports whether new tasks may be placed on a host, as far as the state knows.
func takesTasks(h *spec.Host) bool { return h.Status != spec.HostDraining && !h.Lost() }

// noPlace is why no host has room for a task that waits, as ECS says it.
func (a *hostAsker) noPlace(t *spec.Task) string {
	if why := a.lack(t, a.view.Hosts(t.Cluster)); why != "" {
		return fmt.Sprintf("No host could ever run it: %s.", why)
	}
	request := schedule.RequestFor(a.view, t, a.view.Definition(t.Definition))
	refusals, willing := schedule.HostsOf(a.view, t.Cluster, a.schedulable).Refusals(request)
	if willing > 0 || len(refusals) == 0 {
		return fmt.Sprintf("It waits for its turn in the queue: pinion why %s.", t.ID)
	}
	nearest := refusals[0]
	return fmt.Sprintf("The closest matching (container-instance %s) has not what it needs: %s.", nearest.HostID, nearest.Detail)
}

// zoneOf is the availability zone of a host that takes tasks; empty when it has none.
func (a *hostAsker) zoneOf(h *spec.Host) string {
	zone, _ := h.Attribute(spec.AttributeZone)
	if zone == "" || !takesTasks(h) || !a.schedulable(h.ID) {
		return ""
	}
	return zone
}

// zones are those of the hosts of a cluster, by name.
func (a *hostAsker) zones(cluster string) []string {
	zones := map[string]bool{}
	for _, host := range a.view.Hosts(cluster) {
		zones[a.zoneOf(host)] = true
	}
	delete(zones, "")
	return slices.Sorted(maps.Keys(zones))
}

// zonesFor are the availability zones with a host that could run a task, by name, and whether one of them has room now.
func (a *hostAsker) zonesFor(t *spec.Task) (zones []rollout.Zone) {
	definition := a.view.Definition(t.Definition)
	if definition == nil {
		return nil
	}
	request, hosts := schedule.RequestFor(a.view, t, definition), map[string][]string{}
	for _, host := range a.view.Hosts(t.Cluster) {
		zone := a.zoneOf(host)
		if _, impossible := schedule.Infeasible([]*spec.Host{host}, request); zone != "" && !impossible {
			hosts[zone] = append(hosts[zone], host.ID)
		}
	}
	all := schedule.HostsOf(a.view, t.Cluster, a.schedulable)
	for _, zone := range slices.Sorted(maps.Keys(hosts)) {
		zones = append(zones, rollout.Zone{Name: zone, HasRoom: all.AnyFeasible(request, hosts[zone])})
	}
	return zones
}

// daemonHosts are the hosts that a DAEMON is for: ACTIVE, and ones that could run its task.
func (a *hostAsker) daemonHosts(s *service.Service) (hosts []*spec.Host) {
	request, known := schedule.DaemonRequest(a.view, s)
	if !known {
		return nil
	}
	for _, host := range a.view.Hosts(s.Cluster) {
		if _, impossible := schedule.Infeasible([]*spec.Host{host}, request); takesTasks(host) && !impossible {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
