package raftfsm

import (
	"iter"
	"slices"

	"github.com/tidwall/btree"
)

// table is one kind of object, in each of its orders. The first order has every object of the table, under a key of its own.
type table[T any] struct {
	named  label
	orders []*order[T]
}

// label is what a table is called in a snapshot, and its place among tables.
type label struct {
	name  string
	place int
}

// trees are one version of a table: a tree for each order. Trees share what they have in common with those that they were
// copied from, so a version costs what is changed in it.
type trees[T any] []*tree[T]

// tree is one version of an order. Only the command that makes the version changes it, often at one place and then at the next
// one: it begins to look where it changed it last.
type tree[T any] struct {
	*btree.BTreeG[row[T]]
	last btree.PathHint
}

// degree of the trees: a change copies a node of at most twice as many rows on each level.
const degree = 16

func newTable[T any](name string, orders ...*order[T]) *table[T] {
	t := &table[T]{named: label{name: name}, orders: orders}
	for i, o := range orders {
		o.table, o.place = t, i
	}
	return t
}

// relation is a table of whichever type.
type relation interface {
	label() *label
	version(of any) any          // one that can be changed: what of is, or empty when that is nil
	put(version, object any) any // what it was before; nil: nothing
	fill(version any, objects []any)
	remove(version, object any)
	each(v *View) iter.Seq[any] // by key
	blank() any                 // an object to be read
}

func (t *table[T]) label() *label { return &t.named }

func (t *table[T]) version(of any) any {
	before, _ := of.(trees[T])
	version := make(trees[T], len(t.orders))
	for i, o := range t.orders {
		if before != nil {
			version[i] = &tree[T]{BTreeG: before[i].Copy()}
		} else {
			version[i] = &tree[T]{BTreeG: btree.NewBTreeGOptions(o.less, btree.Options{Degree: degree, NoLocks: true})}
		}
	}
	return version
}

func (t *table[T]) put(version, object any) (before any) {
	trees, after := version.(trees[T]), object.(*T)
	was, replaced := trees[0].SetHint(t.orders[0].row(after), &trees[0].last)
	for i, o := range t.orders[1:] {
		o.move(trees[i+1], was.object, after)
	}
	if !replaced {
		return nil
	}
	return was.object
}

// fill puts many objects at once into an empty version: sorting them is faster than to look for the place of each.
func (t *table[T]) fill(version any, objects []any) {
	rows := make([]row[T], 0, len(objects))
	for i, o := range t.orders {
		rows = rows[:0]
		for _, object := range objects {
			if object := object.(*T); o.contains(object) {
				rows = append(rows, o.row(object))
			}
		}
		slices.SortFunc(rows, o.compare)
		for _, row := range rows {
			version.(trees[T])[i].Load(row)
		}
	}
}

func (t *table[T]) remove(version, object any) {
	for i, tree := range version.(trees[T]) {
		t.orders[i].move(tree, object.(*T), nil)
	}
}

func (t *table[T]) each(v *View) iter.Seq[any] {
	return func(yield func(any) bool) {
		for object := range t.orders[0].all(v) {
			if !yield(object) {
				return
			}
		}
	}
}

func (t *table[T]) blank() any { return new(T) }
