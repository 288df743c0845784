// Package sortkey orders the objects of an index by parts of a key that are read from the objects themselves, so that an
// index of millions of objects stores a pointer and eight bytes for each.
package sortkey

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
)

// Order sorts objects by up to four parts, compared in the order of the fields. Nil marks an unused part; First is always used.
type Order[T any] struct {
	First  func(*T) string
	Number func(*T) int64
	Second func(*T) string
	Third  func(*T) string

	HashedPrefix bool // the first part has few distinct values: see prefix
}

// Key is the key of a lookup.
type Key struct {
	First  string
	Number int64
	Second string
	Third  string
}

// Lowest is the lowest key with that first part.
func Lowest(first string) Key { return Key{First: first, Number: math.MinInt64} }

// Highest is the highest key with that first part, in an order without second and third part.
func Highest(first string) Key { return Key{First: first, Number: math.MaxInt64} }

// Item is an entry of an index: an object, from which its key is derived, or the key of a lookup. Only the prefix of the
// key is stored beside the object, because there are millions of items; comparing prefixes avoids the cache misses of
// reading the objects. It has no type parameter, so that the program has the code of a tree once, not for each type of object.
type Item struct {
	object any // a *T of the Order[T], or the *Key of a lookup
	prefix uint64
}

// Item returns the entry of an object.
func (o *Order[T]) Item(object *T) Item {
	k := Key{First: o.First(object)}
	if o.Number != nil {
		k.Number = o.Number(object)
	}
	if o.HashedPrefix {
		k.Second = o.Second(object)
	}
	return Item{object, o.prefix(&k)}
}

// Object returns the object of an entry, nil for the zero Item and for a lookup.
func (o *Order[T]) Object(i Item) *T {
	object, _ := i.object.(*T)
	return object
}

// Lookup returns an item that compares as an object with that key does.
func (o *Order[T]) Lookup(k Key) Item { return Item{&k, o.prefix(&k)} }

// prefix is compared before the key itself. It is derived from the first part of the key, or from the number if the key
// begins with it, and has the same order. With HashedPrefix it is a checksum of the first part and the beginning of the
// second: groups are then in arbitrary order, and two groups with the same checksum are interleaved.
func (o *Order[T]) prefix(k *Key) uint64 {
	switch {
	case o.HashedPrefix:
		return uint64(checksum(k.First))<<56 | prefixOf(k.Second)>>8
	case k.First == "" && o.Number != nil:
		return uint64(k.Number) ^ 1<<63
	}
	return prefixOf(k.First)
}

// checksum is crc32.ChecksumIEEE of a text, which is computed for every change and lookup, without a copy of it.
func checksum(s string) uint32 {
	sum := ^uint32(0)
	for i := range len(s) {
		sum = crc32.IEEETable[byte(sum)^s[i]] ^ sum>>8
	}
	return ^sum
}

// prefixOf is the first eight bytes of a text as a number.
func prefixOf(s string) uint64 {
	var bytes [8]byte
	copy(bytes[:], s)
	return binary.BigEndian.Uint64(bytes[:])
}

// Interleaved reports whether two items may belong to groups that HashedPrefix interleaves.
func (o *Order[T]) Interleaved(a, b Item) bool {
	return o.HashedPrefix && a.prefix>>56 == b.prefix>>56
}

// Less reports whether a sorts before b.
func (o *Order[T]) Less(a, b Item) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return o.compareKeys(a, b) < 0
}

// Compare is -1, 0 or 1, as a sorts before, with or after b.
func (o *Order[T]) Compare(a, b Item) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return o.compareKeys(a, b)
}

// compareKeys compares the parts of two keys until one differs.
func (o *Order[T]) compareKeys(a, b Item) int {
	if c := strings.Compare(o.firstOf(a), o.firstOf(b)); c != 0 {
		return c
	}
	if o.Number != nil {
		if c := cmp.Compare(o.numberOf(a), o.numberOf(b)); c != 0 {
			return c
		}
	}
	if o.Second == nil {
		return 0
	}
	if c := strings.Compare(o.secondOf(a), o.secondOf(b)); c != 0 || o.Third == nil {
		return c
	}
	return strings.Compare(o.thirdOf(a), o.thirdOf(b))
}

func (o *Order[T]) firstOf(i Item) string {
	if lookup, is := i.object.(*Key); is {
		return lookup.First
	}
	return o.First(i.object.(*T))
}

func (o *Order[T]) numberOf(i Item) int64 {
	if lookup, is := i.object.(*Key); is {
		return lookup.Number
	}
	return o.Number(i.object.(*T))
}

func (o *Order[T]) secondOf(i Item) string {
	if lookup, is := i.object.(*Key); is {
		return lookup.Second
	}
	return o.Second(i.object.(*T))
}

func (o *Order[T]) thirdOf(i Item) string {
	if lookup, is := i.object.(*Key); is {
		return lookup.Third
	}
	return o.Third(i.object.(*T))
}
