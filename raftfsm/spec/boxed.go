package spec

import (
	"encoding/json"
	"reflect"
)

// Boxed is a value behind a pointer, for members that are zero in most objects. It is written as the value itself, in JSON and in the state's
// own encoding, and nobody changes it in place: objects share it. The zero Boxed holds the zero value.
type Boxed[T any] struct{ value *T }

// Box returns a Boxed that holds the value.
func Box[T any](value T) Boxed[T] {
	if zero, is := any(value).(interface{ IsZero() bool }); is && zero.IsZero() || reflect.ValueOf(&value).Elem().IsZero() {
		return Boxed[T]{}
	}
	return Boxed[T]{&value}
}

// Get returns the value. What it refers to is shared.
func (b Boxed[T]) Get() (value T) {
	if b.value != nil {
		value = *b.value
	}
	return value
}

// IsZero reports whether the value is zero.
func (b Boxed[T]) IsZero() bool { return b.value == nil }

// Unpack returns a pointer to a copy of the value, and Pack takes one: the state's encoding writes and reads that.
func (b *Boxed[T]) Unpack() any {
	value := b.Get()
	return &value
}

// Pack takes a pointer to the value.
func (b *Boxed[T]) Pack(value any) { *b = Box(*value.(*T)) }

// MarshalJSON writes the value.
func (b Boxed[T]) MarshalJSON() ([]byte, error) { return json.Marshal(b.Get()) }

// UnmarshalJSON reads the value.
func (b *Boxed[T]) UnmarshalJSON(text []byte) error {
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	b.Pack(&value)
	return nil
}
