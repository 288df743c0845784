package raftfsm

import (
	"pinion/raftfsm/table"
)

// tx is the transaction of one command: a view that includes its own changes, and the changes. They become visible at commit; a
// transaction that is dropped changes nothing.
type tx struct {
	View
	changed   table.Transaction
	recounted bool // the tallies belong to this transaction
	mutations []mutation
	reaps     bool // stopped tasks were removed
}

// mutation is one change of an object, from before to after; nil is no object.
type mutation struct {
	table         anyTable
	before, after any
}

func (s *State) begin() *tx {
	tx := &tx{View: *s.View()}
	tx.changed = table.Begin(&tx.versions)
	return tx
}

func (tx *tx) commit() {
	tx.state.current.Store(&View{versions: tx.changed.Commit(), tallies: tx.tallies, state: tx.state})
}

// put inserts the object or replaces the one with the same key. The object is immutable afterwards.
func (tx *tx) put(table anyTable, object any) {
	before := tx.changed.Put(table, object)
	tx.mutations = append(tx.mutations, mutation{table, before, object})
	tx.recount(before, object)
}

// remove deletes an object of the table.
func (tx *tx) remove(table anyTable, object any) {
	tx.changed.Remove(table, object)
	tx.mutations = append(tx.mutations, mutation{table, object, nil})
	tx.recount(object, nil)
}
