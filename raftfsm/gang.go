package raftfsm

import (
	"slices"
	"strings"

	"pinion/raftfsm/spec"
)

// withTaskEnv returns the effective definition with the environment of the task: gang, array index, attempt. It is merged
// last, so that neither an image nor a definition can override it. gangs caches the addresses of gangs.
func (v *View) withTaskEnv(d *spec.TaskDefinition, t *spec.Task, gangs map[string]*gangAddresses) *spec.TaskDefinition {
	told := t.Environment()
	if t.Gang != nil {
		if gangs[t.Gang.ID] == nil {
			gangs[t.Gang.ID] = v.gangAddressesOf(t.Gang)
		}
		told = append(told, t.Gang.Environment(gangs[t.Gang.ID].master, gangs[t.Gang.ID].hosts)...)
	}
	if len(told) == 0 {
		return d
	}
	own := *d
	own.Containers = slices.Clone(d.Containers)
	d = &own
	for i := range d.Containers {
		d.Containers[i].Environment = spec.MergeEnvironment(d.Containers[i].Environment, told)
	}
	if t.Gang != nil && t.Gang.Rank == 0 {
		d.ExposePort(t.Gang.Port)
	}
	return d
}

// gangAddresses holds the addresses of a gang's hosts.
type gangAddresses struct {
	master string // address of the host of rank 0, without its port
	hosts  string // addresses of the hosts of all ranks in order, comma-separated
}

func (v *View) gangAddressesOf(seat *spec.GangMember) *gangAddresses {
	addresses, known := make([]string, seat.Size), map[string]string{}
	for _, t := range v.Gang(seat.ID) {
		address, seen := known[t.HostID]
		if !seen {
			address = v.addressOf(t.HostID)
			known[t.HostID] = address
		}
		if t.Gang.Rank < len(addresses) {
			addresses[t.Gang.Rank] = address
		}
	}
	if len(addresses) == 0 {
		return &gangAddresses{}
	}
	return &gangAddresses{master: addresses[0], hosts: strings.Join(addresses, ",")}
}

// addressOf is the address of a host for other hosts, without the port; empty when the host is unknown.
func (v *View) addressOf(hostID string) string {
	if host := v.Host(hostID); host != nil {
		return spec.WithoutPort(host.Address)
	}
	return ""
}

// gangAlive reports whether any task of the gang is not STOPPED: the whole gang may have to be retried. known caches
// results.
func (v *View) gangAlive(gang string, known map[string]bool) bool {
	goes, seen := known[gang]
	if !seen {
		goes = slices.ContainsFunc(v.Gang(gang), func(t *spec.Task) bool { return t.LastStatus != spec.Stopped })
		known[gang] = goes
	}
	return goes
}
