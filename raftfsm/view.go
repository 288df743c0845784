package raftfsm

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-memdb"
)

// View is one consistent moment of the state. It costs nothing to take and is safe for concurrent use; what it
// returns is shared and must not be changed. Lists are ordered by key (name, id, family then revision).
type View struct{ txn *memdb.Txn }

// Index is the log index of the last change, 0 when there was none.
func (v *View) Index() uint64 {
	if a := first[applied](v, tableApplied, byID); a != nil {
		return a.Index
	}
	return 0
}

// Pool is the identity of the Raft cluster, nil before the first start.
func (v *View) Pool() *Pool { return first[Pool](v, tablePool, byID) }

// Cluster is nil when the name is unknown.
func (v *View) Cluster(name string) *Cluster {
	return first[Cluster](v, tableClusters, byID, name)
}

// Clusters lists every cluster, INACTIVE ones too.
func (v *View) Clusters() []*Cluster { return list[Cluster](v, tableClusters, byID) }

// Host is nil when the id is unknown.
func (v *View) Host(id string) *Host { return first[Host](v, tableHosts, byID, id) }

// Hosts lists the hosts of a cluster, of all clusters when it is empty.
func (v *View) Hosts(cluster string) []*Host { return listIn[Host](v, tableHosts, cluster) }

// Definition finds "family:revision", or the latest ACTIVE revision of "family". Nil when there is none.
func (v *View) Definition(name string) *TaskDefinition {
	family, number, exact := strings.Cut(name, ":")
	if !exact {
		return last[TaskDefinition](v, tableDefinitions, byActive, family)
	}
	revision, err := strconv.Atoi(number)
	if err != nil || strconv.Itoa(revision) != number {
		return nil
	}
	return first[TaskDefinition](v, tableDefinitions, byID, family, revision)
}

// Definitions lists every revision of a family, of all families when it is empty, INACTIVE ones too.
func (v *View) Definitions(family string) []*TaskDefinition {
	if family == "" {
		return list[TaskDefinition](v, tableDefinitions, byID)
	}
	return list[TaskDefinition](v, tableDefinitions, byID+"_prefix", family)
}

// Task is nil when the id is unknown, or forgotten since.
func (v *View) Task(id string) *Task { return first[Task](v, tableTasks, byID, id) }

// Tasks lists the tasks of a cluster, of all clusters when it is empty, STOPPED ones too until they are reaped.
func (v *View) Tasks(cluster string) []*Task { return listIn[Task](v, tableTasks, cluster) }

// TasksAfter visits the tasks of a cluster whose ids come after id, STOPPED ones too until they are reaped. It costs what
// is visited.
func (v *View) TasksAfter(cluster, id string) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		rows, err := v.txn.LowerBound(tableTasks, byCluster, cluster, id)
		must(err)
		for t := range objects[Task](rows) {
			if t.Cluster != cluster || t.ID != id && !yield(t) {
				return
			}
		}
	}
}

// TasksOn lists the tasks of a host, STOPPED ones too until they are reaped.
func (v *View) TasksOn(hostID string) []*Task { return list[Task](v, tableTasks, byHost, hostID) }

// Free is what the host has left, derived from the host and its tasks. A host that is not known has nothing.
func (v *View) Free(hostID string) Free {
	host := v.Host(hostID)
	if host == nil {
		return Free{}
	}
	return NewFree(host, v.liveOn(hostID))
}

// Key is nil when the id is unknown.
func (v *View) Key(id string) *AccessKey { return first[AccessKey](v, tableKeys, byID, id) }

// Keys lists every access key.
func (v *View) Keys() []*AccessKey { return list[AccessKey](v, tableKeys, byID) }

// Assignments lists every task of the host that is not STOPPED, each with its effective definition, and returns a
// channel that is closed when the list may have changed. Take a new View then.
func (v *View) Assignments(hostID string) ([]Assignment, <-chan struct{}) {
	rows, err := v.txn.Get(tableTasks, byLive, hostID)
	must(err)
	var assignments []Assignment
	gangs := map[string]*gang{}
	for task := range objects[Task](rows) {
		definition := v.equip(Effective(v.Definition(task.Definition), task.Overrides), task, gangs)
		assignments = append(assignments, Assignment{Task: task, Definition: definition})
	}
	return assignments, rows.WatchCh()
}

// liveOn lists the tasks of a host that are not STOPPED.
func (v *View) liveOn(hostID string) []*Task { return list[Task](v, tableTasks, byLive, hostID) }

func first[T any](v *View, table, index string, parts ...any) *T {
	found, err := v.txn.First(table, index, parts...)
	must(err)
	object, _ := found.(*T)
	return object
}

func last[T any](v *View, table, index string, parts ...any) *T {
	found, err := v.txn.Last(table, index, parts...)
	must(err)
	object, _ := found.(*T)
	return object
}

func list[T any](v *View, table, index string, parts ...any) []*T {
	return slices.Collect(each[T](v, table, index, parts...))
}

// listIn lists the objects of one cluster, or all of them.
func listIn[T any](v *View, table, cluster string) []*T {
	if cluster == "" {
		return list[T](v, table, byID)
	}
	return list[T](v, table, byCluster, cluster)
}

// each visits the objects as they are now; the command may change the table meanwhile.
func each[T any](v *View, table, index string, parts ...any) iter.Seq[*T] {
	rows, err := v.txn.Get(table, index, parts...)
	must(err)
	return objects[T](rows)
}

func objects[T any](rows memdb.ResultIterator) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for row := rows.Next(); row != nil; row = rows.Next() {
			if !yield(row.(*T)) {
				return
			}
		}
	}
}
