package raftfsm

import "slices"

// tx is one command at work: the view it reads, its own changes included, and the changes it makes. Nobody sees them before
// commit; to leave it is to undo them.
type tx struct {
	View
	own  []bool // tables of which it has a version to change
	made []made
}

// made is one change of an object: what it was and what it is; nil is none.
type made struct {
	table         relation
	before, after any
}

func (s *State) begin() *tx {
	return &tx{
		View: View{rows: slices.Clone(*s.rows.Load()), state: s, changing: true},
		own:  make([]bool, len(tables)),
	}
}

func (tx *tx) commit() { tx.state.rows.Store(&tx.rows) }

// put inserts the object or replaces the one with the same key. The object is immutable from then on.
func (tx *tx) put(table relation, object any) {
	before := table.put(tx.version(table), object)
	tx.made = append(tx.made, made{table, before, object})
}

// remove takes an object away that is there.
func (tx *tx) remove(table relation, object any) {
	table.remove(tx.version(table), object)
	tx.made = append(tx.made, made{table, object, nil})
}

// version is the table's version that the command may change.
func (tx *tx) version(table relation) any {
	i := table.label().place
	if !tx.own[i] {
		tx.rows[i], tx.own[i] = table.version(tx.rows[i]), true
	}
	return tx.rows[i]
}
