// Package command has the common parts of the commands of nouns in packages below raftfsm. Such a package has its types, their indexes, its reads
// and its commands; package raftfsm registers them.
package command

import (
	"bytes"
	"fmt"
	"reflect"

	"pinion/raftfsm/compact"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Command changes the state. It is pure: ids and times are fields of it. A refusal is an error and changes nothing.
type Command interface {
	Apply(tx Transaction) (any, error)
}

// Transaction is the state while a command is applied.
type Transaction interface {
	View
	Put(object any) // in place of the one with its key; it is immutable afterwards
	Remove(object any)
	// CheckSeal refuses what is sealed with a sealing key that was replaced: spec.ErrUnavailable.
	CheckSeal(name string) error
}

// View is a read of the state: the tables of nouns in packages, and what a command may ask of the nouns of package raftfsm, the clusters being
// all when empty. A raftfsm.View is one.
type View interface {
	table.Reader
	Pool() *spec.Pool // nil before it was created
	Clusters() []*spec.Cluster
	Hosts(cluster string) []*spec.Host
	Host(id string) *spec.Host // nil: unknown
	Removed(hostID string) bool
	Servers() []*spec.Host
	Tasks(cluster string) []*spec.Task
	Task(id string) *spec.Task // nil: unknown, or reaped
	Services(cluster string) []*service.Service
	Service(cluster, name string) *service.Service // nil: unknown; it may be INACTIVE
	ServiceRevision(id string) *service.Revision   // nil: unknown
	Definition(name string) *spec.TaskDefinition   // of a family the newest ACTIVE revision; nil: unknown
}

// MutableService returns a copy of a service that is ACTIVE, with the next version. spec.ErrNotFound, spec.ErrInactive.
func MutableService(v View, cluster, name string) (*service.Service, error) {
	known := v.Service(cluster, name)
	if known == nil {
		return nil, fmt.Errorf("service %s in cluster %s: %w", name, cluster, spec.ErrNotFound)
	}
	if known.Status != service.Active {
		return nil, fmt.Errorf("service %s in cluster %s: %w: it is %s", name, cluster, spec.ErrInactive, known.Status)
	}
	changed := *known
	changed.Version++
	return &changed, nil
}

// Equal reports whether two objects, given by pointers, are the same in a snapshot. Commands use it to detect changes: a
// server that restored an object and one that applied the log may hold its times in different zones, and must decide alike.
func Equal(a, b any) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(new(compact.Writer).Append(nil, a), new(compact.Writer).Append(nil, b))
}
