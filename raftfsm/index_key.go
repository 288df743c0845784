package raftfsm

import (
	"math"
	"time"
)

// The first and the last moment that have a number of their own: the years 1677 and 2262.
var (
	minTime = time.Unix(0, math.MinInt64)
	maxTime = time.Unix(0, math.MaxInt64)
)

// timeKey is a moment as a number. Moments that are not known come first.
func timeKey(t time.Time) int64 {
	switch {
	case t.Before(minTime):
		return math.MinInt64
	case t.After(maxTime):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// indexBy is the order by a text.
func indexBy[T any](first func(*T) string) *index[T] { return &index[T]{first: first} }

// indexByNumber is the order by a number.
func indexByNumber[T any](number func(*T) int64) *index[T] {
	return indexBy(func(*T) string { return "" }).thenNumber(number)
}

// then orders further what is equal so far.
func (o *index[T]) then(part func(*T) string) *index[T] {
	if o.second == nil {
		o.second = part
	} else {
		o.third = part
	}
	return o
}

func (o *index[T]) thenNumber(part func(*T) int64) *index[T] {
	o.number = part
	return o
}

// hashPrefix is for an order whose first part has few values.
func (o *index[T]) hashPrefix() *index[T] {
	o.hashedPrefix = true
	return o
}

// where leaves out the other objects.
func (o *index[T]) where(has func(*T) bool) *index[T] {
	o.predicate = has
	return o
}
