// Package view shows the objects of the state as Amazon ECS shows them. It changes nothing: what it shows follows from the
// view of the state, the region, and which hosts are connected.
package view

import (
	"strings"
	"time"

	"pinion/api/ecs/arn"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Connectivity knows which hosts are connected: the one thing that is shown and not part of the state.
type Connectivity interface {
	// Connected reports whether the host has been heard of lately.
	Connected(hostID string) bool
}

// Renderer renders objects of one view of the state. It is used by one goroutine.
type Renderer struct {
	Region string // of every ARN
	View   *raftfsm.View
	Hosts  Connectivity
	Now    func() time.Time // for the health of hosts

	// The last lookups: tasks that are rendered together mostly share them.
	lastDefinition struct {
		name  string
		found *spec.TaskDefinition
	}
	lastHost struct {
		id        string
		found     *spec.Host
		connected bool
	}
}

// definition is "family:revision" in the view, nil when there is none.
func (r *Renderer) definition(name string) *spec.TaskDefinition {
	if r.lastDefinition.name != name {
		r.lastDefinition.name, r.lastDefinition.found = name, r.View.Definition(name)
	}
	return r.lastDefinition.found
}

// host is the host with that id in the view, nil when there is none, and whether it is connected.
func (r *Renderer) host(id string) (host *spec.Host, connected bool) {
	last := &r.lastHost
	if last.id != id {
		last.id, last.found, last.connected = id, r.View.Host(id), r.Hosts.Connected(id)
	}
	return last.found, last.connected
}

// ClusterARN is the ARN of a cluster.
func (r *Renderer) ClusterARN(name string) string {
	return arn.Make(r.Region, arn.Cluster+"/"+name)
}

// DefinitionARN is the ARN of a task definition, "family:revision", or of one of daemons.
func (r *Renderer) DefinitionARN(name string) string {
	if own, ok := strings.CutPrefix(name, spec.DaemonPrefix); ok {
		return arn.Make(r.Region, arn.DaemonDefinition+"/"+own)
	}
	return arn.Make(r.Region, arn.TaskDefinition+"/"+name)
}

// TaskARN is the ARN of a task.
func (r *Renderer) TaskARN(cluster, id string) string {
	return arn.Make(r.Region, arn.Task+"/"+cluster+"/"+id)
}

// InstanceARN is the ARN of a container instance, which is a host.
func (r *Renderer) InstanceARN(cluster, id string) string {
	return arn.Make(r.Region, arn.ContainerInstance+"/"+cluster+"/"+id)
}

// ProviderARN is the ARN of a capacity provider.
func (r *Renderer) ProviderARN(name string) string {
	return arn.Make(r.Region, arn.CapacityProvider+"/"+name)
}

// ServiceARN is the ARN of a service, or of a daemon.
func (r *Renderer) ServiceARN(cluster, name string) string {
	return arn.Make(r.Region, arn.InCluster(arn.Service, arn.Daemon, cluster, name))
}

// ContainerARN is the ARN of a container of a task, by the container's id.
func (r *Renderer) ContainerARN(t *spec.Task, id string) string {
	return arn.Make(r.Region, "container/"+t.Cluster+"/"+t.ID+"/"+id)
}

// nonNil turns a list that is absent into an empty one: where ECS always shows a list, it is [] and not left out.
func nonNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
