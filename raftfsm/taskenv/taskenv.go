// Package taskenv has the environment by which the containers of a task learn what the pool knows of it: its id, its gang, its place in an array
// and its attempt.
package taskenv

import (
	"slices"
	"strconv"
	"strings"

	"pinion/raftfsm/spec"
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
	EnvTaskID     = "PINION_TASK_ID" // the id that commands and ECS's API take
	EnvArrayIndex = "PINION_ARRAY_INDEX"
	EnvAttempt    = "PINION_ATTEMPT" // 0 the first time; only in tasks that may be tried again
)

// ofTask returns the variables that say what a task is, without its gang.
func ofTask(t *spec.Task) []spec.KeyValue {
	told := []spec.KeyValue{{Name: EnvTaskID, Value: t.ID}}
	if t.ArrayIndex != nil {
		told = append(told, spec.KeyValue{Name: EnvArrayIndex, Value: strconv.Itoa(*t.ArrayIndex)})
	}
	if t.Attempt > 0 || t.SchedulingOptions().Retries > 0 {
		told = append(told, spec.KeyValue{Name: EnvAttempt, Value: strconv.Itoa(t.Attempt)})
	}
	return told
}

// ofGang returns the variables that say what the gang of a task is.
func ofGang(g *spec.GangMember, addresses *GangAddresses) []spec.KeyValue {
	return []spec.KeyValue{
		{Name: EnvMasterAddr, Value: addresses.Master},
		{Name: EnvMasterPort, Value: strconv.Itoa(g.Port)},
		{Name: EnvRank, Value: strconv.Itoa(g.Rank)},
		{Name: EnvWorldSize, Value: strconv.Itoa(g.Size)},
		{Name: EnvLocalRank, Value: "0"},
		{Name: EnvGangHosts, Value: addresses.Hosts},
	}
}

// exposePort maps a port of the host to the same port of the first essential container, unless containers share the network of their
// host. It changes the definition.
func exposePort(d *spec.TaskDefinition, port int) {
	if port == 0 || d.NetworkMode == "host" || d.NetworkMode == "none" || d.HasOwnAddress() {
		return
	}
	main := max(0, slices.IndexFunc(d.Containers, func(c spec.ContainerDefinition) bool { return c.IsEssential() }))
	container := &d.Containers[main]
	mapping := spec.PortMapping{ContainerPort: port, HostPort: port, Protocol: "tcp"}
	container.PortMappings = append(slices.Clip(container.PortMappings), mapping)
}

// GangAddresses holds the addresses of a gang's hosts.
type GangAddresses struct {
	Master string // address of the host of rank 0, without its port
	Hosts  string // addresses of the hosts of all ranks in order, comma-separated
}

// NewGangAddresses finds the addresses of a gang of that size from its tasks.
func NewGangAddresses(size int, tasks []*spec.Task, addressOf func(hostID string) string) *GangAddresses {
	addresses, known := make([]string, size), map[string]string{}
	for _, t := range tasks {
		address, seen := known[t.HostID]
		if !seen {
			address = addressOf(t.HostID)
			known[t.HostID] = address
		}
		if t.Gang.Rank < len(addresses) {
			addresses[t.Gang.Rank] = address
		}
	}
	if len(addresses) == 0 {
		return &GangAddresses{}
	}
	return &GangAddresses{Master: addresses[0], Hosts: strings.Join(addresses, ",")}
}

// Add returns the effective definition with the environment of the task: id, gang, array index, attempt. It is merged
// last, so that neither an image nor a definition can override it. gangs has the addresses of the task's gang, by its id.
func Add(d *spec.TaskDefinition, t *spec.Task, gangs map[string]*GangAddresses) *spec.TaskDefinition {
	told := ofTask(t)
	if t.Gang != nil {
		told = append(told, ofGang(t.Gang, gangs[t.Gang.ID])...)
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
