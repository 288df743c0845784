package raftfsm

import (
	"reflect"
	"slices"

	"pinion/raftfsm/codec"
	"pinion/raftfsm/command"
	"pinion/raftfsm/table"
)

// Wrapped makes a command of a package below this one a Command.
type Wrapped[C command.Command] struct{ Command C }

// Wrap makes a command of a package below this one a Command.
func Wrap[C command.Command](c C) Command { return Wrapped[C]{c} }

func (c Wrapped[C]) apply(tx *tx) (any, error) { return c.Command.Apply(tx) }
func (c *Wrapped[C]) wrapped() any             { return &c.Command }

// wrappedKindOf returns a kind with JSON encoding for a command of a package below this one. Its entries have no trace of the wrapper.
func wrappedKindOf[C command.Command](code byte, level int) kind {
	return codec.NewKind[Command, Wrapped[C]](codec.Codec{
		Append: func(entry []byte, value any) ([]byte, error) {
			return codec.JSON.Append(entry, value.(*Wrapped[C]).wrapped())
		},
		Read: func(body []byte, into any) error { return codec.JSON.Read(body, into.(*Wrapped[C]).wrapped()) },
	}, code, level)
}

func indexes[T any](all ...*table.Index[T]) []*table.Index[T] { return all }

// Put and Remove are put and remove for commands of other packages.
func (tx *tx) Put(object any)    { tx.put(tableOf(object), object) }
func (tx *tx) Remove(object any) { tx.remove(tableOf(object), object) }

// tableOf is the table of an object.
func tableOf(object any) anyTable {
	of := reflect.TypeOf(object)
	return tables[slices.IndexFunc(tables, func(t anyTable) bool { return reflect.TypeOf(t.NewObject()) == of })]
}
