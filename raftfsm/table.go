package raftfsm

import (
	"iter"
	"slices"

	"github.com/tidwall/btree"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
)

// table holds the objects of a noun in all of its indexes.
type table[T any] struct {
	noun[T]
	info tableInfo
}

// tableInfo is the name of a table in snapshots, and its position among tables.
type tableInfo struct {
	name     string
	position int
}

// trees are one version of a table: a tree for each index. Versions share their unchanged nodes, so a version costs only
// its difference.
type trees[T any] []*tree[T]

// tree is one version of an index. Only the command that makes the version changes it, often near its last change: the path
// hint starts the search there.
type tree[T any] struct {
	*btree.BTreeG[sortkey.Item[T]]
	last btree.PathHint
}

// degree of the trees: a change copies a node of at most twice as many items on each level.
const degree = 16

// anyTable is a table of any type.
type anyTable interface {
	tableInfo() *tableInfo
	writable(of any) any         // a mutable copy of the object; an empty one for nil
	put(version, object any) any // the version before; nil: none
	bulkLoad(version any, objects []any)
	remove(version, object any)
	objects(v *View) iter.Seq[any] // by key
	newObject() any                // an empty object to decode into

	references() []string
	commandKinds() []kind
	changeKinds() []ChangeKind
	changesOf(before, after any) []*Change // of an object of the table; nil: no object
	hasExpired(v *View, r Reap) bool
	reap(tx *tx, r Reap) (deleted int)
	keeps(v *View, cluster string) error
	resourceKind() spec.ResourceKind // "" without tags
	tagsOf(v *View, id string) (tags []spec.Tag, found bool)
	setTags(tx *tx, c SetTags) ([]spec.Tag, error)
}

func (t *table[T]) tableInfo() *tableInfo { return &t.info }

func (t *table[T]) writable(of any) any {
	before, _ := of.(trees[T])
	version := make(trees[T], len(t.indexes))
	for i, o := range t.indexes {
		if before != nil {
			version[i] = &tree[T]{BTreeG: before[i].Copy()}
		} else {
			version[i] = &tree[T]{BTreeG: btree.NewBTreeGOptions(o.Less, btree.Options{Degree: degree, NoLocks: true})}
		}
	}
	return version
}

func (t *table[T]) put(version, object any) (before any) {
	trees, after := version.(trees[T]), object.(*T)
	was, replaced := trees[0].SetHint(t.indexes[0].Item(after), &trees[0].last)
	for i, o := range t.indexes[1:] {
		o.update(trees[i+1], was.Object, after)
	}
	if !replaced {
		return nil
	}
	return was.Object
}

// bulkLoad fills an empty version: sorting all objects once is faster than inserting each.
func (t *table[T]) bulkLoad(version any, objects []any) {
	rows := make([]sortkey.Item[T], 0, len(objects))
	for i, o := range t.indexes {
		rows = rows[:0]
		for _, object := range objects {
			if object := object.(*T); o.includes(object) {
				rows = append(rows, o.Item(object))
			}
		}
		slices.SortFunc(rows, o.Compare)
		for _, row := range rows {
			version.(trees[T])[i].Load(row)
		}
	}
}

func (t *table[T]) remove(version, object any) {
	for i, tree := range version.(trees[T]) {
		t.indexes[i].update(tree, object.(*T), nil)
	}
}

func (t *table[T]) objects(v *View) iter.Seq[any] {
	return func(yield func(any) bool) {
		for object := range t.indexes[0].all(v) {
			if !yield(object) {
				return
			}
		}
	}
}

func (t *table[T]) newObject() any { return new(T) }
