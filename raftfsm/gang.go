package raftfsm

import (
	"slices"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskenv"
)

// withTaskEnv adds the environment of a task to its effective definition; gangs caches the addresses of gangs.
func (v *View) withTaskEnv(d *spec.TaskDefinition, t *spec.Task, gangs map[string]*taskenv.GangAddresses) *spec.TaskDefinition {
	if t.Gang != nil && gangs[t.Gang.ID] == nil {
		gangs[t.Gang.ID] = taskenv.NewGangAddresses(t.Gang.Size, v.Gang(t.Gang.ID), v.addressOf)
	}
	return taskenv.Add(d, t, gangs)
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
