package codec

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"pinion/raftfsm/compact"
)

// ErrNewer is the error of reading data of a newer version, which this version cannot read.
var ErrNewer = errors.New("written by a newer version of Pinion, or damaged: start this host with that version")

// ErrTooNew refuses a command that a server of the pool does not understand.
var ErrTooNew = errors.New("a server of the pool runs an older version of Pinion that cannot do this: upgrade it first (see `pinion hosts`)")

// Kind is one line of the table of kinds: a code, its command, and the command's encoding. C is the interface of commands.
type Kind[C any] struct {
	Code   byte
	Level  int                                           // the lowest feature level that understands it
	Type   reflect.Type                                  // of the command
	Fields *compact.Levels                               // of the command's type
	Encode func(entry []byte, command C) ([]byte, error) // appends to entry
	Decode func(body []byte) (C, error)
}

// NewKind returns the kind of the command T with that encoding. Commands are given as values or pointers, and decoded as values.
func NewKind[C, T any](form Codec, code byte, level int) Kind[C] {
	encode := func(entry []byte, command C) ([]byte, error) {
		value, ok := any(command).(T)
		if !ok {
			value = *any(command).(*T)
		}
		return form.Append(entry, &value)
	}
	decode := func(body []byte) (command C, err error) {
		var value T
		if err := form.Read(body, &value); err != nil {
			return command, fmt.Errorf("decode %T: %w: %w", value, err, ErrNewer)
		}
		return any(value).(C), nil
	}
	of := reflect.TypeFor[T]()
	return Kind[C]{Code: code, Level: level, Type: of, Fields: compact.LevelsOf(of), Encode: encode, Decode: decode}
}

// Kinds is the table of commands. A code is never reused for another command, and a command with a new meaning gets a new kind,
// because old log entries are applied again.
type Kinds[C any] struct {
	byCode []Kind[C]
	byType map[reflect.Type][]Kind[C] // the oldest first
}

// NewKinds makes the table; two kinds of one code are a fault of the program.
func NewKinds[C any](all []Kind[C]) Kinds[C] {
	k := Kinds[C]{byCode: slices.SortedFunc(slices.Values(all), func(a, b Kind[C]) int { return cmp.Compare(a.Code, b.Code) }), byType: map[reflect.Type][]Kind[C]{}}
	for i, one := range k.byCode {
		if i > 0 && k.byCode[i-1].Code == one.Code {
			panic(fmt.Sprintf("kind %d is of two commands, %v and %v", one.Code, k.byCode[i-1].Type, one.Type))
		}
		k.byType[one.Type] = append(k.byType[one.Type], one)
	}
	return k
}

// All lists the kinds by code.
func (k Kinds[C]) All() []Kind[C] { return k.byCode }

// Encode makes a log entry by the newest kind of the command that servers of the level understand: one byte, the kind's code, and the
// command.
func (k Kinds[C]) Encode(c C, level int) ([]byte, error) {
	known := k.of(c)
	if len(known) == 0 {
		return nil, fmt.Errorf("encode %T: it has no line in the table of kinds", c)
	}
	chosen := known[0]
	for _, kind := range known {
		if kind.Level <= level {
			chosen = kind
		}
	}
	entry, err := chosen.Encode([]byte{chosen.Code}, c)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", c, err)
	}
	return entry, nil
}

// Decode reads a log entry. An unknown kind or field is ErrNewer: a server that skipped it would diverge from its peers.
func (k Kinds[C]) Decode(entry []byte) (command C, err error) {
	if len(entry) == 0 {
		return command, fmt.Errorf("decode command: the entry is empty: %w", ErrNewer)
	}
	i, known := slices.BinarySearchFunc(k.byCode, entry[0], func(k Kind[C], code byte) int { return cmp.Compare(k.Code, code) })
	if !known {
		return command, fmt.Errorf("decode command: kind %d is not known: %w", entry[0], ErrNewer)
	}
	return k.byCode[i].Decode(entry[1:])
}

// MayWrite returns ErrTooNew unless servers of that level understand the command.
func (k Kinds[C]) MayWrite(c C, level int) error {
	known := k.of(c)
	if len(known) == 0 {
		return nil
	}
	if max(known[0].Level, known[0].Fields.Needed(reflect.Indirect(reflect.ValueOf(c)))) <= level {
		return nil
	}
	return fmt.Errorf("%v: %w", known[0].Type, ErrTooNew)
}

// of lists the kinds of a command, the oldest first.
func (k Kinds[C]) of(c C) []Kind[C] {
	of := reflect.TypeOf(c)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return k.byType[of]
}
