package raftfsm

import (
	"iter"
	"slices"

	"pinion/raftfsm/sortkey"
)

// index keeps all objects of a table, or the subset of a predicate, sorted by a unique key.
type index[T any] struct {
	sortkey.Order[T]
	table     *table[T]
	position  int           // among the orders of the table
	predicate func(*T) bool // nil: the index has every object
}

// get returns the object with that key, nil when there is none.
func (o *index[T]) get(v *View, k sortkey.Key) *T {
	found, _ := o.tree(v).Get(o.Lookup(k))
	return found.Object
}

// last returns the object with the highest key of that first part, nil when there is none. It needs a key with a number.
func (o *index[T]) last(v *View, first string) (found *T) {
	o.tree(v).Descend(o.Lookup(sortkey.Highest(first)), func(r sortkey.Item[T]) bool {
		if o.First(r.Object) == first {
			found = r.Object
		}
		return false
	})
	return found
}

// all visits every object. A command may change the table during the visit, which sees the objects from before.
func (o *index[T]) all(v *View) iter.Seq[*T] {
	tree := o.tree(v).BTreeG
	if v.inTx {
		tree = tree.Copy()
	}
	return func(yield func(*T) bool) {
		tree.Scan(func(r sortkey.Item[T]) bool { return yield(r.Object) })
	}
}

// scan visits the objects of that first part. A command may change the table during the visit, as with all.
func (o *index[T]) scan(v *View, first string) iter.Seq[*T] {
	if v.inTx { // copying the tree, as all does, would make the following changes more expensive
		return slices.Values(o.list(v, first))
	}
	return o.seek(v, sortkey.Lowest(first))
}

// list returns the objects of scan as a slice.
func (o *index[T]) list(v *View, first string) (found []*T) {
	for object := range o.seek(v, sortkey.Lowest(first)) {
		found = append(found, object)
	}
	return found
}

// seek visits the objects of the key's first part, starting at the key. The table must not change during the visit.
func (o *index[T]) seek(v *View, k sortkey.Key) iter.Seq[*T] {
	from := o.Lookup(k)
	return func(yield func(*T) bool) {
		o.tree(v).Ascend(from, func(r sortkey.Item[T]) bool {
			if o.First(r.Object) == k.First {
				return yield(r.Object)
			}
			return o.Interleaved(r, from) // interleaved groups
		})
	}
}

// from visits the objects at and after the key, or at and before it when descending, whatever their first part. The table must
// not change during the visit. It needs an index without a hashed prefix.
func (o *index[T]) from(v *View, k sortkey.Key, descending bool) iter.Seq[*T] {
	visit := o.tree(v).Ascend
	if descending {
		visit = o.tree(v).Descend
	}
	return func(yield func(*T) bool) {
		visit(o.Lookup(k), func(r sortkey.Item[T]) bool { return yield(r.Object) })
	}
}

func (o *index[T]) tree(v *View) *tree[T] {
	return v.versions[o.table.info.position].(trees[T])[o.position]
}

// update replaces an object by its next version; either may be nil.
func (o *index[T]) update(tree *tree[T], before, after *T) {
	had, has := o.includes(before), o.includes(after)
	var was, is sortkey.Item[T]
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

func (o *index[T]) includes(object *T) bool {
	return object != nil && (o.predicate == nil || o.predicate(object))
}

// matching visits the objects that satisfy the predicate.
func (o *index[T]) matching(v *View, fits func(*T) bool) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for object := range o.all(v) {
			if fits(object) && !yield(object) {
				return
			}
		}
	}
}

// until visits the objects before the first one for which ends returns true.
func (o *index[T]) until(v *View, ends func(*T) bool) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for object := range o.all(v) {
			if ends(object) || !yield(object) {
				return
			}
		}
	}
}
