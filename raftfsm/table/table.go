package table

import (
	"iter"
	"slices"
	"sync"

	"github.com/tidwall/btree"

	"pinion/raftfsm/sortkey"
)

// Table holds the objects of one type in all of its indexes. It is a description: the objects are in Versions.
type Table[T any] struct {
	name     string
	position int
	indexes  []*Index[T]
}

// New describes a table. Its name is that in snapshots. The first index has every object, under a unique key.
func New[T any](name string, indexes ...*Index[T]) *Table[T] {
	t := &Table[T]{name: name, indexes: indexes}
	for i, o := range indexes {
		o.table, o.position = t, i
	}
	return t
}

// Any is a table of any type.
type Any interface {
	Name() string
	Position() int                  // among the tables of its state
	SetPosition(position int)       // before the first use
	NewObject() any                 // an empty object to decode into
	Objects(r Reader) iter.Seq[any] // by key

	writable(of trees) trees           // a mutable copy of the version; an empty one for nil
	put(version trees, object any) any // the object before; nil: none
	bulkLoad(version trees, objects []any)
	remove(version trees, object any)
}

// trees are one version of a table: a tree for each index. Versions share their unchanged nodes, so a version costs only
// its difference.
type trees []*tree

// tree is one version of an index. Only the transaction that makes the version changes it, often near its last change: the path
// hint starts the search there.
type tree struct {
	*btree.BTreeG[sortkey.Item]
	last btree.PathHint
}

// degree of the trees: a change copies a node of at most twice as many items on each level.
const degree = 16

// Name is the table's name in snapshots.
func (t *Table[T]) Name() string { return t.name }

// Position is the table's place among those of its state.
func (t *Table[T]) Position() int { return t.position }

// SetPosition gives the table its place among those of its state.
func (t *Table[T]) SetPosition(position int) { t.position = position }

// Indexes lists the table's indexes, the one with every object first.
func (t *Table[T]) Indexes() []*Index[T] { return t.indexes }

// NewObject returns an empty object of the table.
func (t *Table[T]) NewObject() any { return new(T) }

// Objects visits every object by its key.
func (t *Table[T]) Objects(r Reader) iter.Seq[any] {
	return func(yield func(any) bool) {
		for object := range t.indexes[0].All(r) {
			if !yield(object) {
				return
			}
		}
	}
}

// copying is held by those who copy a version: a copy marks its original as shared, and states that were forked copy the same ones.
var copying sync.Mutex

func (t *Table[T]) writable(of trees) trees {
	copying.Lock()
	defer copying.Unlock()
	version := make(trees, len(t.indexes))
	for i, o := range t.indexes {
		if of != nil {
			version[i] = &tree{BTreeG: of[i].Copy()}
		} else {
			version[i] = &tree{BTreeG: btree.NewBTreeGOptions(o.Less, btree.Options{Degree: degree, NoLocks: true})}
		}
	}
	return version
}

func (t *Table[T]) put(version trees, object any) (before any) {
	after := object.(*T)
	replaced, had := version[0].SetHint(t.indexes[0].Item(after), &version[0].last)
	was := t.indexes[0].Object(replaced)
	for i, o := range t.indexes[1:] {
		o.update(version[i+1], was, after)
	}
	if !had {
		return nil // and not a *T that is nil
	}
	return was
}

// bulkLoad fills an empty version: sorting all objects once is faster than inserting each.
func (t *Table[T]) bulkLoad(version trees, objects []any) {
	rows := make([]sortkey.Item, 0, len(objects))
	for i, o := range t.indexes {
		rows = rows[:0]
		for _, object := range objects {
			if object := object.(*T); o.Includes(object) {
				rows = append(rows, o.Item(object))
			}
		}
		slices.SortFunc(rows, o.Compare)
		for _, row := range rows {
			version[i].Load(row)
		}
	}
}

func (t *Table[T]) remove(version trees, object any) {
	for i, tree := range version {
		t.indexes[i].update(tree, object.(*T), nil)
	}
}
