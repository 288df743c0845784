// Package change has the changes of objects by log entries, as the readers of the changelog see them.
package change

import (
	"reflect"
	"time"

	"pinion/raftfsm/changelog"
	"pinion/raftfsm/spec"
)

// Kind is the kind of object in a change.
type Kind string

// The kinds of changes.
const (
	Task    Kind = "task"
	Host    Kind = "host"
	Cluster Kind = "cluster"
	GPU     Kind = "gpu"
	Leader  Kind = "leader"

	Service       Kind = "service"
	ServiceAction Kind = "service-action"
	Deployment    Kind = "deployment"
	Hook          Kind = "hook"
)

// Connection is the part of a host's change that is about its connection.
type Connection string

// What becomes of a connection.
const (
	HostDisconnected Connection = "DISCONNECTED" // the host is not heard of any more; its tasks may run on
	HostLost         Connection = "LOST"         // it was given up, and its tasks are STOPPED
	HostBack         Connection = "BACK"         // it is heard of again
)

// Change is the version of one object after a log entry. It is immutable.
type Change struct {
	Position    changelog.Position
	At          time.Time // when the leader appended the entry to its log; zero without Raft
	Kind        Kind
	ClusterName string     // cluster of the object
	Connection  Connection // of a host that is disconnected, lost or back by this change
	Deleted     bool       // the object was deleted, and Object is its last version
	Object      any        // of the type that belongs to Kind: *spec.Task, *spec.Host, *spec.Cluster, *spec.HostGPU, *raftfsm.Leader, *service.Service, *service.EventChange, *service.DeploymentChange, *service.HookChange
}

// LogPosition is the position of the change.
func (c *Change) LogPosition() changelog.Position { return c.Position }

// Size is about how many bytes the change keeps in memory that no other one does: what a host has said grows with its words.
func (c *Change) Size() int {
	size := 1 << 10
	switch object := c.Object.(type) {
	case *spec.Host:
		size += bytesOf(reflect.ValueOf(object))
	case *spec.Task:
		for i := range object.Containers {
			container := &object.Containers[i]
			size += 256 + len(container.Reason) + len(container.RuntimeID) + len(container.ImageDigest) + 64*len(container.Bindings)
		}
	}
	return size
}

// Task returns the task of a change of a task, nil for another kind.
func (c *Change) Task() *spec.Task {
	task, _ := c.Object.(*spec.Task)
	return task
}

// Cluster returns the cluster of a change of a cluster, nil for another kind.
func (c *Change) Cluster() *spec.Cluster {
	cluster, _ := c.Object.(*spec.Cluster)
	return cluster
}

// Host returns the host of a change of a host, or the host that has the GPU of a change of a GPU; nil for another kind.
func (c *Change) Host() *spec.Host {
	if gpu := c.GPU(); gpu != nil {
		return gpu.Host
	}
	host, _ := c.Object.(*spec.Host)
	return host
}

// GPU returns the GPU of a change of a GPU, nil for another kind.
func (c *Change) GPU() *spec.HostGPU {
	gpu, _ := c.Object.(*spec.HostGPU)
	return gpu
}

// OfHost lists the change of a host and then the changes of its GPUs. A host that moves to another cluster is deleted
// in the old cluster and new in the other, because a reader may follow one cluster only. Nil is a host that does not exist.
func OfHost(before, after *spec.Host) []*Change {
	if before != nil && after != nil && before.Cluster != after.Cluster {
		return append(OfHost(before, nil), OfHost(nil, after)...)
	}
	host, over := after, after == nil
	if over {
		host = before
	}
	all := []*Change{{Kind: Host, ClusterName: host.Cluster, Object: host, Deleted: over}}
	switch {
	case before == nil || over:
	case after.Lost() && !before.Lost():
		all[0].Connection = HostLost
	case before.Silent() == after.Silent():
	case after.Silent():
		all[0].Connection = HostDisconnected
	default:
		all[0].Connection = HostBack
	}
	changed, gone := spec.GPUChanges(before, after)
	for _, gpu := range changed {
		all = append(all, &Change{Kind: GPU, ClusterName: host.Cluster, Object: gpu})
	}
	for _, gpu := range gone {
		all = append(all, &Change{Kind: GPU, ClusterName: host.Cluster, Object: gpu, Deleted: true})
	}
	return all
}
