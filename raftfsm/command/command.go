// Package command is what commands of nouns in packages below raftfsm have in common. Such a package has its types, their indexes, its reads
// and its commands; package raftfsm registers them.
package command

import (
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
	Tasks(cluster string) []*spec.Task
	Services(cluster string) []*service.Service
	Service(cluster, name string) *service.Service // nil: unknown; it may be INACTIVE
	ServiceRevision(id string) *service.Revision   // nil: unknown
	Definition(name string) *spec.TaskDefinition   // of a family the newest ACTIVE revision; nil: unknown
}
