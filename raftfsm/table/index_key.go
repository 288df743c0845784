package table

import "pinion/raftfsm/sortkey"

// By makes an index whose key begins with a text.
func By[T any](first func(*T) string) *Index[T] {
	return &Index[T]{Order: sortkey.Order[T]{First: first}}
}

// ByNumber makes an index whose key begins with a number.
func ByNumber[T any](number func(*T) int64) *Index[T] {
	return By(func(*T) string { return "" }).ThenNumber(number)
}

// Then appends a text to the key.
func (o *Index[T]) Then(part func(*T) string) *Index[T] {
	if o.Second == nil {
		o.Second = part
	} else {
		o.Third = part
	}
	return o
}

// ThenNumber appends a number to the key, which is compared before the second text.
func (o *Index[T]) ThenNumber(part func(*T) int64) *Index[T] {
	o.Number = part
	return o
}

// HashPrefix marks an index whose first part has few distinct values; see sortkey.Order.
func (o *Index[T]) HashPrefix() *Index[T] {
	o.HashedPrefix = true
	return o
}

// Where makes the index partial: it leaves out objects for which has returns false.
func (o *Index[T]) Where(has func(*T) bool) *Index[T] {
	o.predicate = has
	return o
}
