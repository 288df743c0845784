package raftfsm

import (
	"reflect"
	"slices"

	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Traffic is a command of package loadbalancer.
type Traffic[C loadbalancer.Command] struct{ Command C }

func (c Traffic[C]) apply(tx *tx) (any, error) { return c.Command.Apply(tx) }

var (
	_ = trafficNoun("loadBalancers", loadbalancer.Resource, loadbalancer.Find, func(b *loadbalancer.LoadBalancer) *[]spec.Tag { return &b.Tags },
		indexes(loadbalancer.ByID, loadbalancer.ByName),
		kindOf[Traffic[loadbalancer.Create]](100, 1), kindOf[Traffic[loadbalancer.Update]](101, 1), kindOf[Traffic[loadbalancer.Delete]](102, 1))
	_ = trafficNoun("targetGroups", loadbalancer.ResourceGroup, loadbalancer.FindGroup, func(g *loadbalancer.Group) *[]spec.Tag { return &g.Tags },
		indexes(loadbalancer.GroupsByID, loadbalancer.GroupsByName), kindOf[Traffic[loadbalancer.CreateGroup]](103, 1), kindOf[Traffic[loadbalancer.UpdateGroup]](104, 1))
	_ = trafficNoun("listeners", loadbalancer.ResourceListener, loadbalancer.FindListener, func(l *loadbalancer.Listener) *[]spec.Tag { return &l.Tags },
		indexes(loadbalancer.ListenersByID, loadbalancer.ListenersByPort, loadbalancer.ListenersOf),
		kindOf[Traffic[loadbalancer.CreateListener]](105, 1), kindOf[Traffic[loadbalancer.UpdateListener]](106, 1))
	_ = trafficNoun("listenerRules", loadbalancer.ResourceRule, loadbalancer.FindRule, func(r *loadbalancer.Rule) *[]spec.Tag { return &r.Tags },
		indexes(loadbalancer.RulesByID, loadbalancer.RulesOf), kindOf[Traffic[loadbalancer.CreateRule]](107, 1), kindOf[Traffic[loadbalancer.UpdateRules]](108, 1))
)

func indexes[T any](all ...*table.Index[T]) []*table.Index[T] { return all }

func trafficNoun[T any](name string, resource spec.ResourceKind, find func(table.Reader, string) *T, tags func(*T) *[]spec.Tag, indexes []*table.Index[T], commands ...kind) *nounTable[T] {
	return register(noun[T]{
		table: name, indexes: indexes, commands: commands, noChanges: "readers compare what Routing is made of them", noExpiry: "a deleted one is gone",
		tags: &tagging[T]{kind: resource, find: func(v *View, id string) *T { return find(v, id) }, tags: tags},
	})
}

// Put and Remove are put and remove for commands of other packages.
func (tx *tx) Put(object any)    { tx.put(tableOf(object), object) }
func (tx *tx) Remove(object any) { tx.remove(tableOf(object), object) }

// tableOf is the table of an object.
func tableOf(object any) anyTable {
	of := reflect.TypeOf(object)
	return tables[slices.IndexFunc(tables, func(t anyTable) bool { return reflect.TypeOf(t.NewObject()) == of })]
}
