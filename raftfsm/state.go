package raftfsm

import (
	"fmt"
	"time"

	"github.com/hashicorp/go-memdb"
)

// State is everything the cluster remembers. It works without Raft: whoever applies the same commands in the same
// order gets the same state. Reads never wait for writes.
type State struct {
	db      *memdb.MemDB
	changes changelog
}

// NewState returns an empty state.
func NewState() *State {
	schema := &memdb.DBSchema{Tables: map[string]*memdb.TableSchema{}}
	for _, t := range tables {
		schema.Tables[t.schema.Name] = t.schema
	}
	db, err := memdb.NewMemDB(schema)
	if err != nil {
		panic(fmt.Sprintf("raftfsm: the tables are declared wrongly: %v", err))
	}
	return &State{db: db}
}

// Apply is ApplyAt for whom it does not matter when that was.
func (s *State) Apply(index uint64, c Command) (any, error) { return s.ApplyAt(index, time.Time{}, c) }

// ApplyAt carries out one command at its place in the log, which got there at a moment that only Changes tell. Either all
// of it happens or, when an error is returned, nothing. The answer is shared and must not be changed.
func (s *State) ApplyAt(index uint64, at time.Time, c Command) (any, error) {
	tx := &tx{View: View{s.db.Txn(true)}}
	defer tx.txn.Abort()
	tx.txn.TrackChanges()
	answer, err := c.apply(tx)
	if err != nil {
		return nil, err
	}
	if tx.changed {
		tx.put(tableApplied, &applied{Index: index})
		changes := changesOf(tx.txn.Changes())
		tx.txn.Commit()
		s.changes.add(index, at, changes) // now: who hears of a change finds it in the state
	}
	return answer, nil
}

// View returns the state as it is now.
func (s *State) View() *View { return &View{s.db.Txn(false)} }

// tx is the transaction of one command: the view it reads, its own changes included, and the changes it makes.
type tx struct {
	View
	changed bool
}

// put inserts the object or replaces the one with the same key. The object is immutable from then on.
func (tx *tx) put(table string, object any) {
	must(tx.txn.Insert(table, object))
	tx.changed = true
}

func (tx *tx) remove(table string, object any) {
	must(tx.txn.Delete(table, object))
	tx.changed = true
}

// must is for errors of memdb, which only say that a table, an index or a type is not the one declared.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("raftfsm: %v", err))
	}
}
