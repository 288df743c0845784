package raftfsm

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/sealing"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/tally"
	"pinion/raftfsm/taskenv"
)

// versions is embedded without being a part of the interface of View.
type versions = table.Versions

// View is a consistent, immutable read of the state. It costs nothing to take and is safe for concurrent use; the objects that it
// returns are shared and must not be changed. Lists are sorted by key (name, id, family then revision).
type View struct {
	versions
	tallies *tally.Tallies
	state   *State // the state of this view
}

// Index is the log index of the last change, 0 when there was none.
func (v *View) Index() uint64 {
	if a := appliedIndex.Get(v, sortkey.Key{}); a != nil {
		return a.Index
	}
	return 0
}

// Reaped is the log index of the last change that removed stopped tasks, 0 when there was none.
func (v *View) Reaped() uint64 {
	if a := appliedIndex.Get(v, sortkey.Key{}); a != nil {
		return a.Reaped
	}
	return 0
}

// Pool is the identity of the Raft cluster, nil before the first start.
func (v *View) Pool() *spec.Pool { return poolIndex.Get(v, sortkey.Key{}) }

// CA is the pool's certificate authority, nil while none is recorded.
func (v *View) CA() *spec.CA { return ca.Find(v) }

// CheckSeal refuses what is sealed with a sealing key that was replaced: spec.ErrUnavailable.
func (v *View) CheckSeal(name string) error { return sealing.Check(v, name) }

// Cluster returns nil when the name is unknown.
func (v *View) Cluster(name string) *spec.Cluster {
	return clustersByName.Get(v, sortkey.Key{First: name})
}

// Clusters lists every cluster, INACTIVE ones included.
func (v *View) Clusters() []*spec.Cluster { return slices.Collect(clustersByName.All(v)) }

// Host returns nil when the id is unknown.
func (v *View) Host(id string) *spec.Host { return hostsByID.Get(v, sortkey.Key{First: id}) }

// Hosts lists the hosts of a cluster; of all clusters when it is empty.
func (v *View) Hosts(cluster string) []*spec.Host {
	return listByCluster(v, cluster, hostsByID, hostsByCluster)
}

// Servers lists the hosts of all clusters that should be servers.
func (v *View) Servers() []*spec.Host { return slices.Collect(serversByID.All(v)) }

// Definition finds "family:revision", or the latest ACTIVE revision of "family". Nil when there is none.
func (v *View) Definition(name string) *spec.TaskDefinition {
	family, number, exact := strings.Cut(name, ":")
	if !exact {
		return definitionsActive.Last(v, family)
	}
	revision, err := strconv.Atoi(number)
	if err != nil || strconv.Itoa(revision) != number {
		return nil
	}
	return definitionsByName.Get(v, sortkey.Key{First: family, Number: int64(revision)})
}

// Definitions lists every revision of a family, INACTIVE ones included; of all families when it is empty.
func (v *View) Definitions(family string) []*spec.TaskDefinition {
	if family == "" {
		return slices.Collect(definitionsByName.All(v))
	}
	return definitionsByName.List(v, family)
}

// DefinitionsFrom visits the revisions with that status, of every status when it is empty, by family and revision: those at
// and after a revision of a family, which need not exist, or those at and before it when descending. Its cost depends only on
// the revisions visited.
func (v *View) DefinitionsFrom(status spec.DefinitionStatus, family string, revision int, descending bool) iter.Seq[*spec.TaskDefinition] {
	definitions := definitionsByName
	switch status {
	case spec.DefinitionActive:
		definitions = definitionsActive
	case spec.DefinitionInactive:
		definitions = definitionsInactive
	case spec.DefinitionDeleting:
		definitions = definitionsDeleting
	}
	first := cmp.Or(family, "\x00") // an empty first part would sort by the number
	return definitions.From(v, sortkey.Key{First: first, Number: int64(revision)}, descending)
}

// Task returns nil when the id is unknown or the task was reaped.
func (v *View) Task(id string) *spec.Task { return tasksByID.Get(v, sortkey.Key{First: id}) }

// Tasks lists the tasks of a cluster, STOPPED ones included until they are reaped; of all clusters when it is empty.
func (v *View) Tasks(cluster string) []*spec.Task {
	return listByCluster(v, cluster, tasksByID, tasksByCluster)
}

// TasksAfter visits the tasks of a cluster whose ids come after id, STOPPED ones included until they are reaped. Its cost
// depends only on the tasks visited.
func (v *View) TasksAfter(cluster, id string) iter.Seq[*spec.Task] {
	return func(yield func(*spec.Task) bool) {
		for t := range tasksByCluster.Seek(v, sortkey.Key{First: cluster, Second: id}) {
			if t.ID != id && !yield(t) {
				return
			}
		}
	}
}

// TasksOn lists the tasks of a host, STOPPED ones last, until they are reaped.
func (v *View) TasksOn(hostID string) []*spec.Task { return tasksByHost.List(v, hostID) }

// Free is the host's free capacity, derived from the host, its tasks and the listeners of the pool. An unknown host has none.
func (v *View) Free(hostID string) spec.Free {
	host := v.Host(hostID)
	if host == nil {
		return spec.Free{}
	}
	free := spec.NewFree(host, v.liveTasksOn(hostID))
	free.TakePorts(loadbalancer.Ports(v))
	return free
}

// AccessKey returns nil when the id is unknown. That of a task follows from the task and its role, and has no secret.
func (v *View) AccessKey(id string) *accesskey.Key {
	return credential.Find(v, id)
}

// Assignments lists every task of the host that is not STOPPED, each with its effective definition, and returns a
// channel that is closed when the list may have changed. Take a new View then.
func (v *View) Assignments(hostID string) ([]spec.Assignment, <-chan struct{}) {
	live := v.liveTasksOn(hostID)
	assignments := make([]spec.Assignment, 0, len(live))
	gangs := map[string]*taskenv.GangAddresses{}
	for _, task := range live {
		definition := v.withTaskEnv(spec.Effective(v.Definition(task.Definition), task.Overrides.Get()), task, gangs)
		assignments = append(assignments, spec.Assignment{Task: task, Definition: definition, ClusterRules: v.Cluster(task.Cluster).Rules()})
	}
	return assignments, v.state.hostWatches.Wait(hostID, func() bool {
		now := v.state.View()
		return !tasksByHost.Same(now, v) && !slices.Equal(live, now.liveTasksOn(hostID))
	})
}

// liveTasksOn lists the tasks of a host that are not STOPPED.
func (v *View) liveTasksOn(hostID string) (live []*spec.Task) {
	for task := range tasksByHost.Seek(v, sortkey.Lowest(hostID)) { // no command changes them here, and many may be STOPPED
		if task.LastStatus == spec.Stopped {
			break // the rest are STOPPED
		}
		live = append(live, task)
	}
	return live
}

// listByCluster lists the objects of one cluster, or all of them when it is empty.
func listByCluster[T any](v *View, cluster string, byID, byCluster *table.Index[T]) []*T {
	if cluster == "" {
		return slices.AppendSeq(make([]*T, 0, byID.Len(v)), byID.All(v))
	}
	return byCluster.List(v, cluster)
}
