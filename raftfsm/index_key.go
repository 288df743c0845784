package raftfsm

import "pinion/raftfsm/sortkey"

// indexBy makes an index whose key begins with a text.
func indexBy[T any](first func(*T) string) *index[T] {
	return &index[T]{Order: sortkey.Order[T]{First: first}}
}

// indexByNumber makes an index whose key begins with a number.
func indexByNumber[T any](number func(*T) int64) *index[T] {
	return indexBy(func(*T) string { return "" }).thenNumber(number)
}

// then appends a text to the key.
func (o *index[T]) then(part func(*T) string) *index[T] {
	if o.Second == nil {
		o.Second = part
	} else {
		o.Third = part
	}
	return o
}

func (o *index[T]) thenNumber(part func(*T) int64) *index[T] {
	o.Number = part
	return o
}

// hashPrefix marks an index whose first part has few distinct values; see sortkey.Order.
func (o *index[T]) hashPrefix() *index[T] {
	o.HashedPrefix = true
	return o
}

// where makes the index partial: it leaves out objects for which has returns false.
func (o *index[T]) where(has func(*T) bool) *index[T] {
	o.predicate = has
	return o
}
