package raftfsm

import (
	"slices"

	"pinion/raftfsm/spec"
)

// withTaskEnv returns the effective definition with the environment of the task: gang, array index, attempt. It is merged
// last, so that neither an image nor a definition can override it. gangs caches the addresses of gangs.
func (v *View) withTaskEnv(d *spec.TaskDefinition, t *spec.Task, gangs map[string]*spec.GangAddresses) *spec.TaskDefinition {
	told := t.Environment()
	if t.Gang != nil {
		if gangs[t.Gang.ID] == nil {
			gangs[t.Gang.ID] = spec.NewGangAddresses(t.Gang.Size, v.Gang(t.Gang.ID), v.addressOf)
		}
		told = append(told, t.Gang.Environment(gangs[t.Gang.ID].Master, gangs[t.Gang.ID].Hosts)...)
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
