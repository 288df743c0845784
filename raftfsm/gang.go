package raftfsm

import (
	"slices"
	"strconv"
	"strings"
)

// Environment variables by which the containers of a task learn what the pool knows of it. The first five are those that
// PyTorch's env:// and torchrun read.
const (
	EnvMasterAddr = "MASTER_ADDR" // the address of the host of rank 0
	EnvMasterPort = "MASTER_PORT" // the gang's TCP port there
	EnvRank       = "RANK"        // 0 to WORLD_SIZE-1
	EnvWorldSize  = "WORLD_SIZE"  // tasks of the gang
	EnvLocalRank  = "LOCAL_RANK"  // always 0: each task sees its own GPUs alone, counted from 0
	EnvGangHosts  = "PINION_GANG_HOSTS"
	EnvArrayIndex = "PINION_ARRAY_INDEX"
	EnvAttempt    = "PINION_ATTEMPT" // 0 the first time; only in tasks that may be tried again
)

// equip is the effective definition with what the task is told of its gang, its array and its attempts. It is said last,
// so that neither an image nor a definition can say otherwise. Members of gangs are looked up in gangs, which it fills in.
func (v *View) equip(d *TaskDefinition, t *Task, gangs map[string]*gang) *TaskDefinition {
	told := t.told()
	if t.Gang != nil {
		if gangs[t.Gang.ID] == nil {
			gangs[t.Gang.ID] = v.gangOf(t.Gang)
		}
		told = append(told, gangs[t.Gang.ID].tell(t.Gang)...)
	}
	if len(told) == 0 {
		return d
	}
	own := *d
	own.Containers = slices.Clone(d.Containers)
	d = &own
	for i := range d.Containers {
		d.Containers[i].Environment = mergeByName(d.Containers[i].Environment, told)
	}
	if t.Gang != nil && t.Gang.Rank == 0 {
		d.publish(t.Gang.Port)
	}
	return d
}

// told is what a task is told of itself alone.
func (t *Task) told() (told []KeyValue) {
	if t.ArrayIndex != nil {
		told = append(told, KeyValue{EnvArrayIndex, strconv.Itoa(*t.ArrayIndex)})
	}
	if t.Attempt > 0 || t.Terms().Retries > 0 {
		told = append(told, KeyValue{EnvAttempt, strconv.Itoa(t.Attempt)})
	}
	return told
}

// gang is where the tasks of a gang are.
type gang struct {
	master string // address of the host of rank 0, without its port
	hosts  string // addresses of the hosts of all ranks in their order, with commas between
}

func (v *View) gangOf(seat *Seat) *gang {
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
		return &gang{}
	}
	return &gang{master: addresses[0], hosts: strings.Join(addresses, ",")}
}

// addressOf is where other hosts reach a host, without the port; empty when nobody knows.
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

func (g *gang) tell(seat *Seat) []KeyValue {
	return []KeyValue{
		{EnvMasterAddr, g.master},
		{EnvMasterPort, strconv.Itoa(seat.Port)},
		{EnvRank, strconv.Itoa(seat.Rank)},
		{EnvWorldSize, strconv.Itoa(seat.Size)},
		{EnvLocalRank, "0"},
		{EnvGangHosts, g.hosts},
	}
}

// publish forwards a port of the host to the same one of the first essential container, where containers do not share the
// network of their host.
func (d *TaskDefinition) publish(port int) {
	if port == 0 || d.NetworkMode == "host" || d.NetworkMode == "none" {
		return
	}
	main := max(0, slices.IndexFunc(d.Containers, func(c ContainerDefinition) bool { return c.IsEssential() }))
	container := &d.Containers[main]
	mapping := PortMapping{ContainerPort: port, HostPort: port, Protocol: "tcp"}
	container.PortMappings = append(slices.Clip(container.PortMappings), mapping)
}

// goesOn says whether a task of the gang is not STOPPED: all of it may have to be done again. known remembers answers.
func (v *View) goesOn(gang string, known map[string]bool) bool {
	goes, seen := known[gang]
	if !seen {
		goes = slices.ContainsFunc(v.Gang(gang), func(t *Task) bool { return t.LastStatus != Stopped })
		known[gang] = goes
	}
	return goes
}
