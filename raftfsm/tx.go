package raftfsm

import (
	"bytes"
	"reflect"
	"slices"

	"pinion/raftfsm/compact"
)

// tx is one command at work: the view it reads, its own changes included, and the changes it makes. Nobody sees them before
// commit; to leave it is to undo them.
type tx struct {
	View
	written   []bool // tables of which it has a version to change
	mutations []mutation
}

// mutation is one change of an object: what it was and what it is; nil is none.
type mutation struct {
	table         anyTable
	before, after any
}

func (s *State) begin() *tx {
	return &tx{
		View:    View{versions: slices.Clone(*s.versions.Load()), state: s, inTx: true},
		written: make([]bool, len(tables)),
	}
}

func (tx *tx) commit() { tx.state.versions.Store(&tx.versions) }

// put inserts the object or replaces the one with the same key. The object is immutable from then on.
func (tx *tx) put(table anyTable, object any) {
	before := table.put(tx.writable(table), object)
	tx.mutations = append(tx.mutations, mutation{table, before, object})
}

// remove takes an object away that is there.
func (tx *tx) remove(table anyTable, object any) {
	table.remove(tx.writable(table), object)
	tx.mutations = append(tx.mutations, mutation{table, object, nil})
}

// writable is the table's version that the command may change.
func (tx *tx) writable(table anyTable) any {
	i := table.tableInfo().position
	if !tx.written[i] {
		tx.versions[i], tx.written[i] = table.writable(tx.versions[i]), true
	}
	return tx.versions[i]
}

// equal says whether two objects, given by pointers, are the same to a snapshot. Commands ask it what has changed: servers that
// restored an object and servers that applied the log may have its moments in different zones, and have to answer alike.
func equal(a, b any) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(new(compact.Writer).Append(nil, a), new(compact.Writer).Append(nil, b))
}
