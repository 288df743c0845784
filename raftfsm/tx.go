package raftfsm

import (
	"bytes"
	"reflect"
	"slices"

	"pinion/raftfsm/compact"
)

// tx is the transaction of one command: a view that includes its own changes, and the changes. They become visible at commit; a
// transaction that is dropped changes nothing.
type tx struct {
	View
	written   []bool // tables of which it has a mutable version, then the tallies
	mutations []mutation
	reaps     bool // stopped tasks were removed
}

// mutation is one change of an object, from before to after; nil is no object.
type mutation struct {
	table         anyTable
	before, after any
}

func (s *State) begin() *tx {
	return &tx{
		View:    View{versions: slices.Clone(*s.versions.Load()), state: s, inTx: true},
		written: make([]bool, len(tables)+1),
	}
}

func (tx *tx) commit() { tx.state.versions.Store(&tx.versions) }

// put inserts the object or replaces the one with the same key. The object is immutable afterwards.
func (tx *tx) put(table anyTable, object any) {
	before := table.put(tx.writable(table), object)
	tx.mutations = append(tx.mutations, mutation{table, before, object})
	tx.recount(before, object)
}

// remove deletes an object of the table.
func (tx *tx) remove(table anyTable, object any) {
	table.remove(tx.writable(table), object)
	tx.mutations = append(tx.mutations, mutation{table, object, nil})
	tx.recount(object, nil)
}

// writable returns the version of the table that this transaction may change.
func (tx *tx) writable(table anyTable) any {
	i := table.tableInfo().position
	if !tx.written[i] {
		tx.versions[i], tx.written[i] = table.writable(tx.versions[i]), true
	}
	return tx.versions[i]
}

// equal reports whether two objects, given by pointers, are the same in a snapshot. Commands use it to detect changes: a
// server that restored an object and one that applied the log may hold its times in different zones, and must decide alike.
func equal(a, b any) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(new(compact.Writer).Append(nil, a), new(compact.Writer).Append(nil, b))
}
