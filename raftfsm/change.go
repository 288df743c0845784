package raftfsm

import (
	"time"

	"pinion/raftfsm/changelog"
	"pinion/raftfsm/spec"
)

// What readers of the changes need of package changelog.
type (
	// Position is a place in the log, the same on every server.
	Position = changelog.Position
	// CompactedError is the error of Changes when the changes after the position are not remembered.
	CompactedError = changelog.CompactedError
)

// PositionAfter is the position after all changes of an entry.
func PositionAfter(index uint64) Position { return changelog.After(index) }

// Changes lists at most limit changes after a position, oldest first. When there are none, more is closed at the next
// change. The error is a *CompactedError.
func (s *State) Changes(after Position, limit int) (changes []*Change, more <-chan struct{}, err error) {
	return s.changes.After(after, limit)
}

// ChangeKind is the kind of object in a change.
type ChangeKind string

// The kinds of changes.
const (
	TaskChange    ChangeKind = "task"
	HostChange    ChangeKind = "host"
	ClusterChange ChangeKind = "cluster"
	GPUChange     ChangeKind = "gpu"
)

// ChangeKinds lists the kinds that the nouns have registered.
var ChangeKinds []ChangeKind

// Change is the version of one object after a log entry. It is immutable.
type Change struct {
	Position    Position
	At          time.Time // when the leader appended the entry to its log; zero without Raft
	Kind        ChangeKind
	ClusterName string // cluster of the object
	Deleted     bool   // the object was deleted, and Object is its last version
	Object      any    // of the type that belongs to Kind: *spec.Task, *spec.Host, *spec.Cluster, *spec.HostGPU
}

// Place is the position of the change.
func (c *Change) Place() Position { return c.Position }

// Task returns the task of a TaskChange, nil for another kind.
func (c *Change) Task() *spec.Task {
	task, _ := c.Object.(*spec.Task)
	return task
}

// Cluster returns the cluster of a ClusterChange, nil for another kind.
func (c *Change) Cluster() *spec.Cluster {
	cluster, _ := c.Object.(*spec.Cluster)
	return cluster
}

// Host returns the host of a HostChange or the host that has the GPU of a GPUChange, nil for another kind.
func (c *Change) Host() *spec.Host {
	if gpu := c.GPU(); gpu != nil {
		return gpu.Host
	}
	host, _ := c.Object.(*spec.Host)
	return host
}

// GPU returns the GPU of a GPUChange, nil for another kind.
func (c *Change) GPU() *spec.HostGPU {
	gpu, _ := c.Object.(*spec.HostGPU)
	return gpu
}

// changesOf lists the changes of the command at an index in its order, as the descriptors of the nouns make them.
func changesOf(index uint64, at time.Time, all []mutation) []*Change {
	changes := make([]*Change, 0, len(all))
	for _, m := range coalesce(all) {
		if m.table != nil {
			changes = append(changes, m.table.changesOf(m.before, m.after)...)
		}
	}
	for i, change := range changes {
		change.Position, change.At = Position{Index: index, Offset: i}, at
	}
	return changes
}

// coalesce merges several changes of one object by a command: the result goes from its first version to its last.
func coalesce(all []mutation) []mutation {
	at := make(map[any]int, len(all)) // index in the result of an object's change
	for i, m := range all {
		if earlier, again := at[m.before]; again {
			all[i].before = all[earlier].before
			all[earlier] = mutation{}
		}
		if m.after != nil {
			at[m.after] = i
		}
	}
	return all
}

// hostChanges lists the change of a host and then the changes of its GPUs. A host that moves to another cluster is deleted
// in the old cluster and new in the other, because a reader may follow one cluster only. Nil is a host that does not exist.
func hostChanges(before, after *spec.Host) []*Change {
	if before != nil && after != nil && before.Cluster != after.Cluster {
		return append(hostChanges(before, nil), hostChanges(nil, after)...)
	}
	host, over := after, after == nil
	if over {
		host = before
	}
	all := []*Change{{Kind: HostChange, ClusterName: host.Cluster, Object: host, Deleted: over}}
	changed, gone := spec.GPUChanges(before, after)
	for _, gpu := range changed {
		all = append(all, &Change{Kind: GPUChange, ClusterName: host.Cluster, Object: gpu})
	}
	for _, gpu := range gone {
		all = append(all, &Change{Kind: GPUChange, ClusterName: host.Cluster, Object: gpu, Deleted: true})
	}
	return all
}
