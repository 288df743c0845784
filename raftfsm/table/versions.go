// Package table keeps the objects of a state in tables, each a few sorted indexes of the same objects, as copy-on-write trees: a
// version of all tables is free to take and safe to share, and the next version shares all nodes that did not change. It knows
// nothing of what the objects are.
//
// Items carry a prefix of their key, which decides nearly every comparison without a look at the object. An entry copies each node that it
// changes once, so it costs least where its objects lie together: tasks that are made together have adjacent ids.
package table

import "slices"

// Versions is one version of each table of a state. Only a Transaction changes it; the zero value has no tables.
type Versions struct {
	byPosition []trees
	written    []bool // by position: the version belongs to the transaction that is changing it; nil: there is none
}

// Reader is a read of one version of each table: Versions, and whatever embeds it.
type Reader interface{ versions() *Versions }

func (v *Versions) versions() *Versions { return v }

// changing reports whether a transaction has begun to change that version of a table. Until then the transaction shares it with others, and it stays
// as it is.
func (v *Versions) changing(position int) bool { return v.written != nil && v.written[position] }

// Load returns the versions that have these objects, by the position of their tables; nil is none.
func Load[A Any](tables []A, objects [][]any) Versions {
	loaded := Versions{byPosition: make([]trees, len(tables))}
	for i, t := range tables {
		loaded.byPosition[i] = t.writable(nil)
		if objects != nil {
			t.bulkLoad(loaded.byPosition[i], objects[i])
		}
	}
	return loaded
}

// Transaction turns versions into the next ones. A transaction that is dropped changes nothing but the copy that it works on.
type Transaction struct{ on *Versions }

// Begin starts a transaction on a copy of versions that nobody else reads; reads of the copy include its changes.
func Begin(own *Versions) Transaction {
	own.byPosition, own.written = slices.Clone(own.byPosition), make([]bool, len(own.byPosition))
	return Transaction{on: own}
}

// Put inserts an object, or replaces the one with the same key, which it returns. The object is immutable afterwards.
func (tx Transaction) Put(t Any, object any) (before any) { return t.put(tx.writable(t), object) }

// Remove deletes an object of the table.
func (tx Transaction) Remove(t Any, object any) { t.remove(tx.writable(t), object) }

// Commit returns the changed versions, which never change again.
func (tx Transaction) Commit() Versions { return Versions{byPosition: tx.on.byPosition} }

// writable returns the version of the table that this transaction may change.
func (tx Transaction) writable(t Any) trees {
	i := t.Position()
	if !tx.on.written[i] {
		tx.on.byPosition[i], tx.on.written[i] = t.writable(tx.on.byPosition[i]), true
	}
	return tx.on.byPosition[i]
}
