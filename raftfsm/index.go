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

// index keeps all objects of a table, or the subset of a predicate, sorted by a unique key.
type index[T any] struct {
	table    *table[T]
	position int // among the orders of the table

	// Parts of the key, compared in order; nil for an unused part.
	first     func(*T) string
	number    func(*T) int64
	second    func(*T) string
	third     func(*T) string
	predicate func(*T) bool // nil: the index has every object

	hashedPrefix bool // the first part has few distinct values: see keyPrefix
}

// indexKey is the key of a lookup.
type indexKey struct {
	first  string
	number int64
	second string
	third  string
}

// firstKey is the lowest key with that first part.
func firstKey(first string) indexKey { return indexKey{first: first, number: math.MinInt64} }

// item is an entry of an index: an object, from which its key is derived, or the key of a lookup. Only the prefix of the
// key is stored beside the object, because there are millions of items; comparing prefixes avoids the cache misses of
// reading the objects.
type item[T any] struct {
	prefix uint64
	object *T
	probe  *indexKey
}

func (o *index[T]) item(object *T) item[T] {
	k := indexKey{first: o.first(object)}
	if o.number != nil {
		k.number = o.number(object)
	}
	if o.hashedPrefix {
		k.second = o.second(object)
	}
	return item[T]{prefix: o.keyPrefix(&k), object: object}
}

func (o *index[T]) probe(k indexKey) item[T] { return item[T]{prefix: o.keyPrefix(&k), probe: &k} }

// keyPrefix is compared before the key itself. It is derived from the first part of the key, or from the number if the key
// begins with it, and has the same order. With hashPrefix it is a checksum of the first part and the beginning of the
// second: groups are then in arbitrary order, and two groups with the same checksum are interleaved.
func (o *index[T]) keyPrefix(k *indexKey) uint64 {
	switch {
	case o.hashedPrefix:
		return uint64(crc32.ChecksumIEEE([]byte(k.first)))<<56 | prefixOf(k.second)>>8
	case k.first == "" && o.number != nil:
		return uint64(k.number) ^ 1<<63
	}
	return prefixOf(k.first)
}

// prefixOf is the first eight bytes of a text as a number.
func prefixOf(s string) uint64 {
	var bytes [8]byte
	copy(bytes[:], s)
	return binary.BigEndian.Uint64(bytes[:])
}

func (o *index[T]) less(a, b item[T]) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return o.compareKeys(a, b) < 0
}

func (o *index[T]) compare(a, b item[T]) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return o.compareKeys(a, b)
}

// compareKeys compares the parts of two keys until one differs.
func (o *index[T]) compareKeys(a, b item[T]) int {
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

func (o *index[T]) firstOf(r item[T]) string {
	if r.probe != nil {
		return r.probe.first
	}
	return o.first(r.object)
}

func (o *index[T]) numberOf(r item[T]) int64 {
	if r.probe != nil {
		return r.probe.number
	}
	return o.number(r.object)
}

func (o *index[T]) secondOf(r item[T]) string {
	if r.probe != nil {
		return r.probe.second
	}
	return o.second(r.object)
}

func (o *index[T]) thirdOf(r item[T]) string {
	if r.probe != nil {
		return r.probe.third
	}
	return o.third(r.object)
}

// get returns the object with that key, nil when there is none.
func (o *index[T]) get(v *View, k indexKey) *T {
	found, _ := o.tree(v).Get(o.probe(k))
	return found.object
}

// last returns the object with the highest key of that first part, nil when there is none. It needs a key with a number.
func (o *index[T]) last(v *View, first string) (found *T) {
	o.tree(v).Descend(o.probe(indexKey{first: first, number: math.MaxInt64}), func(r item[T]) bool {
		if o.first(r.object) == first {
			found = r.object
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
		tree.Scan(func(r item[T]) bool { return yield(r.object) })
	}
}

// scan visits the objects of that first part. A command may change the table during the visit, as with all.
func (o *index[T]) scan(v *View, first string) iter.Seq[*T] {
	if v.inTx { // copying the tree, as all does, would make the following changes more expensive
		return slices.Values(o.list(v, first))
	}
	return o.seek(v, firstKey(first))
}

// list returns the objects of scan as a slice.
func (o *index[T]) list(v *View, first string) (found []*T) {
	for object := range o.seek(v, firstKey(first)) {
		found = append(found, object)
	}
	return found
}

// seek visits the objects of the key's first part, starting at the key. The table must not change during the visit.
func (o *index[T]) seek(v *View, k indexKey) iter.Seq[*T] {
	from := o.probe(k)
	return func(yield func(*T) bool) {
		o.tree(v).Ascend(from, func(r item[T]) bool {
			if o.first(r.object) == k.first {
				return yield(r.object)
			}
			return o.hashedPrefix && r.prefix>>56 == from.prefix>>56 // interleaved groups
		})
	}
}

func (o *index[T]) tree(v *View) *tree[T] {
	return v.versions[o.table.info.position].(trees[T])[o.position]
}

// update replaces an object by its next version; either may be nil.
func (o *index[T]) update(tree *tree[T], before, after *T) {
	had, has := o.includes(before), o.includes(after)
	var was, is item[T]
	if had {
		was = o.item(before)
	}
	if has {
		is = o.item(after)
	}
	if had && (!has || o.less(was, is) || o.less(is, was)) {
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
