package raftfsm

import (
	"slices"
	"strconv"
	"strings"

	"pinion/raftfsm/spec"
)

// withTaskEnv returns the effective definition with the environment of the task: gang, array index, attempt. It is merged
// last, so that neither an image nor a definition can override it. gangs caches the addresses of gangs.
func (v *View) withTaskEnv(d *spec.TaskDefinition, t *spec.Task, gangs map[string]*gangAddresses) *spec.TaskDefinition {
	told := taskEnv(t)
	if t.Gang != nil {
		if gangs[t.Gang.ID] == nil {
			gangs[t.Gang.ID] = v.gangAddressesOf(t.Gang)
		}
		told = append(told, gangs[t.Gang.ID].env(t.Gang)...)
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
		exposePort(d, t.Gang.Port)
	}
	return d
}

// taskEnv returns the environment of the task alone, without its gang.
func taskEnv(t *spec.Task) (told []spec.KeyValue) {
	if t.ArrayIndex != nil {
		told = append(told, spec.KeyValue{Name: spec.EnvArrayIndex, Value: strconv.Itoa(*t.ArrayIndex)})
	}
	if t.Attempt > 0 || t.SchedulingOptions().Retries > 0 {
		told = append(told, spec.KeyValue{Name: spec.EnvAttempt, Value: strconv.Itoa(t.Attempt)})
	}
	return told
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
	host := v.Host(hostID)
	if host == nil {
		return ""
	}
	address := host.Address
	if port := strings.LastIndexByte(address, ':'); port >= 0 {
		address = address[:port]
	}
	return strings.Trim(address, "[]") // of an IPv6 address
}

func (g *gangAddresses) env(seat *spec.GangMember) []spec.KeyValue {
	return []spec.KeyValue{
		{Name: spec.EnvMasterAddr, Value: g.master},
		{Name: spec.EnvMasterPort, Value: strconv.Itoa(seat.Port)},
		{Name: spec.EnvRank, Value: strconv.Itoa(seat.Rank)},
		{Name: spec.EnvWorldSize, Value: strconv.Itoa(seat.Size)},
		{Name: spec.EnvLocalRank, Value: "0"},
		{Name: spec.EnvGangHosts, Value: g.hosts},
	}
}

// exposePort maps a port of the host to the same port of the first essential container, unless containers share the network of their
// host.
func exposePort(d *spec.TaskDefinition, port int) {
	if port == 0 || d.NetworkMode == "host" || d.NetworkMode == "none" {
		return
	}
	main := max(0, slices.IndexFunc(d.Containers, func(c spec.ContainerDefinition) bool { return c.IsEssential() }))
	container := &d.Containers[main]
	mapping := spec.PortMapping{ContainerPort: port, HostPort: port, Protocol: "tcp"}
	container.PortMappings = append(slices.Clip(container.PortMappings), mapping)
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
