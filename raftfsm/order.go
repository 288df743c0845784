package raftfsm

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"math"
	"slices"
	"strings"
)

// order is the objects of a table, or some of them, sorted by a key that no two of them share.
type order[T any] struct {
	table *table[T]
	place int // among the orders of the table

	// The parts of the key, compared one after the other; nil where there is none.
	first  func(*T) string
	number func(*T) int64
	second func(*T) string
	third  func(*T) string
	has    func(*T) bool // nil: the order has every object

	grouped bool // the first part has few values: see digest
}

// key is what a lookup is for.
type key struct {
	first  string
	number int64
	second string
	third  string
}

// startOf is the least key that begins with first.
func startOf(first string) key { return key{first: first, number: math.MinInt64} }

// row is what stands in an order: an object, whose key follows from it, or the key that a lookup is for. The key is not kept
// beside the object because there are millions of rows; its digest is, because looking at the objects themselves would cost a
// row of misses in the processor's caches.
type row[T any] struct {
	digest uint64
	object *T
	at     *key
}

func (o *order[T]) row(object *T) row[T] {
	k := key{first: o.first(object)}
	if o.number != nil {
		k.number = o.number(object)
	}
	if o.grouped {
		k.second = o.second(object)
	}
	return row[T]{digest: o.digest(&k), object: object}
}

func (o *order[T]) lookup(k key) row[T] { return row[T]{digest: o.digest(&k), at: &k} }

// digest is what rows are compared by first. It comes from the first part of the key, or from the number where that is the first
// one, and orders as they do. Where the first part has few values, it is a sum of that and the beginning of the second: groups
// come in any order then, and two of them that have the same sum come mixed.
func (o *order[T]) digest(k *key) uint64 {
	switch {
	case o.grouped:
		return uint64(crc32.ChecksumIEEE([]byte(k.first)))<<56 | beginning(k.second)>>8
	case k.first == "" && o.number != nil:
		return uint64(k.number) ^ 1<<63
	}
	return beginning(k.first)
}

// beginning is the first eight bytes of a text, as a number.
func beginning(s string) uint64 {
	var bytes [8]byte
	copy(bytes[:], s)
	return binary.BigEndian.Uint64(bytes[:])
}

func (o *order[T]) less(a, b row[T]) bool {
	if a.digest != b.digest {
		return a.digest < b.digest
	}
	return o.compareParts(a, b) < 0
}

func (o *order[T]) compare(a, b row[T]) int {
	if a.digest != b.digest {
		return cmp.Compare(a.digest, b.digest)
	}
	return o.compareParts(a, b)
}

// compareParts looks at no more parts than it needs.
func (o *order[T]) compareParts(a, b row[T]) int {
	if c := strings.Compare(o.firstOf(a), o.firstOf(b)); c != 0 {
		return c
	}
	if o.number != nil {
		if c := cmp.Compare(o.numberOf(a), o.numberOf(b)); c != 0 {
			return c
		}
	}
	if o.second == nil {
		return 0
	}
	if c := strings.Compare(o.secondOf(a), o.secondOf(b)); c != 0 || o.third == nil {
		return c
	}
	return strings.Compare(o.thirdOf(a), o.thirdOf(b))
}

func (o *order[T]) firstOf(r row[T]) string {
	if r.at != nil {
		return r.at.first
	}
	return o.first(r.object)
}

func (o *order[T]) numberOf(r row[T]) int64 {
	if r.at != nil {
		return r.at.number
	}
	return o.number(r.object)
}

func (o *order[T]) secondOf(r row[T]) string {
	if r.at != nil {
		return r.at.second
	}
	return o.second(r.object)
}

func (o *order[T]) thirdOf(r row[T]) string {
	if r.at != nil {
		return r.at.third
	}
	return o.third(r.object)
}

// get is the object with that key, nil when there is none.
func (o *order[T]) get(v *View, k key) *T {
	found, _ := o.in(v).Get(o.lookup(k))
	return found.object
}

// last is the object with the greatest key that begins with first, nil when there is none. The order is one with numbers.
func (o *order[T]) last(v *View, first string) (found *T) {
	o.in(v).Descend(o.lookup(key{first: first, number: math.MaxInt64}), func(r row[T]) bool {
		if o.first(r.object) == first {
			found = r.object
		}
		return false
	})
	return found
}

// all visits every object. A command may change the table meanwhile: it sees those that were there before.
func (o *order[T]) all(v *View) iter.Seq[*T] {
	tree := o.in(v).BTreeG
	if v.changing {
		tree = tree.Copy()
	}
	return func(yield func(*T) bool) {
		tree.Scan(func(r row[T]) bool { return yield(r.object) })
	}
}

// of visits the objects whose keys begin with first, like all.
func (o *order[T]) of(v *View, first string) iter.Seq[*T] {
	if v.changing { // a copy of the tree, as of all, would make the changes after it cost more
		return slices.Values(o.list(v, first))
	}
	return o.from(v, startOf(first))
}

// list is what of visits.
func (o *order[T]) list(v *View, first string) (found []*T) {
	for object := range o.from(v, startOf(first)) {
		found = append(found, object)
	}
	return found
}

// from visits the objects from a key on that have its first part. Nobody may change the table meanwhile.
func (o *order[T]) from(v *View, k key) iter.Seq[*T] {
	from := o.lookup(k)
	return func(yield func(*T) bool) {
		o.in(v).Ascend(from, func(r row[T]) bool {
			if o.first(r.object) == k.first {
				return yield(r.object)
			}
			return o.grouped && r.digest>>56 == from.digest>>56 // others may stand between
		})
	}
}

func (o *order[T]) in(v *View) *tree[T] {
	return v.rows[o.table.named.place].(trees[T])[o.place]
}

// move puts an object in the place of what it was before; either may be nil.
func (o *order[T]) move(tree *tree[T], before, after *T) {
	had, has := o.contains(before), o.contains(after)
	var was, is row[T]
	if had {
		was = o.row(before)
	}
	if has {
		is = o.row(after)
	}
	if had && (!has || o.less(was, is) || o.less(is, was)) {
		tree.DeleteHint(was, &tree.last)
	}
	if has {
		tree.SetHint(is, &tree.last)
	}
}

func (o *order[T]) contains(object *T) bool { return object != nil && (o.has == nil || o.has(object)) }
