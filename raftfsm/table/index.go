package table

import (
	"iter"
	"slices"

	"pinion/raftfsm/sortkey"
)

// Index keeps all objects of a table, or the subset of a predicate, sorted by a unique key.
type Index[T any] struct {
	sortkey.Order[T]
	table     *Table[T]
	position  int           // among the orders of the table
	predicate func(*T) bool // nil: the index has every object
}

// Get returns the object with that key, nil when there is none.
func (o *Index[T]) Get(r Reader, k sortkey.Key) *T {
	found, _ := o.tree(r).Get(o.Lookup(k))
	return o.Object(found)
}

// Last returns the object with the highest key of that first part, nil when there is none. It needs a key with a number.
func (o *Index[T]) Last(r Reader, first string) (found *T) {
	o.tree(r).Descend(o.Lookup(sortkey.Highest(first)), func(i sortkey.Item) bool {
		if object := o.Object(i); o.First(object) == first {
			found = object
		}
		return false
	})
	return found
}

// All visits every object. A transaction may change the table during the visit, which sees the objects from before.
func (o *Index[T]) All(r Reader) iter.Seq[*T] {
	tree := o.tree(r).BTreeG
	if r.versions().changing(o.table.position) {
		tree = tree.Copy()
	}
	return func(yield func(*T) bool) {
		tree.Scan(func(i sortkey.Item) bool { return yield(o.Object(i)) })
	}
}

// Scan visits the objects of that first part. A transaction may change the table during the visit, as with All.
func (o *Index[T]) Scan(r Reader, first string) iter.Seq[*T] {
	if r.versions().changing(o.table.position) { // copying the tree, as All does, would make the following changes more expensive
		return slices.Values(o.List(r, first))
	}
	return o.Seek(r, sortkey.Lowest(first))
}

// List returns the objects of Scan as a slice.
func (o *Index[T]) List(r Reader, first string) (found []*T) {
	for object := range o.Seek(r, sortkey.Lowest(first)) {
		found = append(found, object)
	}
	return found
}

// Len returns the number of objects in the index.
func (o *Index[T]) Len(r Reader) int { return o.tree(r).Len() }

// Seek visits the objects of the key's first part, starting at the key. The table must not change during the visit.
func (o *Index[T]) Seek(r Reader, k sortkey.Key) iter.Seq[*T] {
	from, tree := o.Lookup(k), o.tree(r)
	return func(yield func(*T) bool) {
		tree.Ascend(from, func(i sortkey.Item) bool {
			if object := o.Object(i); o.First(object) == k.First {
				return yield(object)
			}
			return o.Interleaved(i, from) // interleaved groups
		})
	}
}

// From visits the objects at and after the key, or at and before it when descending, whatever their first part. The table must
// not change during the visit. It needs an index without a hashed prefix.
func (o *Index[T]) From(r Reader, k sortkey.Key, descending bool) iter.Seq[*T] {
	visit := o.tree(r).Ascend
	if descending {
		visit = o.tree(r).Descend
	}
	return func(yield func(*T) bool) {
		visit(o.Lookup(k), func(i sortkey.Item) bool { return yield(o.Object(i)) })
	}
}

// Same reports whether nothing of the index differs between two reads.
func (o *Index[T]) Same(a, b Reader) bool { return o.tree(a) == o.tree(b) }

func (o *Index[T]) tree(r Reader) *tree {
	return r.versions().byPosition[o.table.position][o.position]
}

// update replaces an object by its next version; either may be nil.
func (o *Index[T]) update(tree *tree, before, after *T) {
	had, has := o.Includes(before), o.Includes(after)
	var was, is sortkey.Item
	if had {
		was = o.Item(before)
	}
	if has {
		is = o.Item(after)
	}
	if had && (!has || o.Less(was, is) || o.Less(is, was)) {
		tree.DeleteHint(was, &tree.last)
	}
	if has {
		tree.SetHint(is, &tree.last)
	}
}

// Includes reports whether an object belongs to the index; nil does not.
func (o *Index[T]) Includes(object *T) bool {
	return object != nil && (o.predicate == nil || o.predicate(object))
}

// Matching visits the objects that satisfy the predicate.
func (o *Index[T]) Matching(r Reader, fits func(*T) bool) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for object := range o.All(r) {
			if fits(object) && !yield(object) {
				return
			}
		}
	}
}

// Until visits the objects before the first one for which ends returns true.
func (o *Index[T]) Until(r Reader, ends func(*T) bool) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for object := range o.All(r) {
			if ends(object) || !yield(object) {
				return
			}
		}
	}
}
