package raftfsm

import (
	"errors"
	"fmt"
	"reflect"

	"pinion/raftfsm/codec"
	"pinion/raftfsm/compact"
)

// Command changes the state. A command is one type with its apply beside it, in the file of its noun, and one line in the descriptor
// of that noun. apply is pure: the same state and command give the same new state and answer on every server. A refusal is an error
// and changes nothing.
//
// A command belongs to the state once it is applied: the caller must not change it, or what it points to, afterwards.
type Command interface {
	apply(tx *tx) (any, error)
}

// commonKinds are the commands for all nouns; the descriptor of a noun lists its own.
var commonKinds = []kind{
	kindOf[SetTags](30, 1),
	kindOf[Reap](37, 1),
}

// ErrNewer is the error of Decode and Restore for data of a newer version, which this version cannot read.
var ErrNewer = errors.New("written by a newer version of Pinion, or damaged: start this host with that version")

// Encode makes the log entry of a command for servers of this version: one byte, the kind, and the command as JSON or compact.
func Encode(c Command) ([]byte, error) { return encode(c, ownLevel) }

// Encode makes the log entry of a command that every server of the pool understands, or returns ErrTooNew. Every proposal
// uses it: a committed entry has to be applied, so apply cannot refuse it.
func (v *View) Encode(c Command) ([]byte, error) {
	level := v.MinFeatureLevel()
	if err := mayWrite(c, level); err != nil {
		return nil, err
	}
	return encode(c, level)
}

// encode uses the newest kind of the command that servers of the level understand.
func encode(c Command, level int) ([]byte, error) {
	known := kindsOf(c)
	if len(known) == 0 {
		return nil, fmt.Errorf("encode %T: it has no line in the table of kinds", c)
	}
	chosen := known[0]
	for _, k := range known {
		if k.level <= level {
			chosen = k
		}
	}
	entry, err := chosen.encode([]byte{chosen.code}, c)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", c, err)
	}
	return entry, nil
}

// Decode reads a log entry. An unknown kind or field is ErrNewer: a server that skipped it would diverge from its peers.
func Decode(entry []byte) (Command, error) {
	if len(entry) == 0 {
		return nil, fmt.Errorf("decode command: the entry is empty: %w", ErrNewer)
	}
	for _, k := range kinds {
		if k.code == entry[0] {
			return k.decode(entry[1:])
		}
	}
	return nil, fmt.Errorf("decode command: kind %d is not known: %w", entry[0], ErrNewer)
}

// kind is one line of the table of kinds: a code, its command, and the command's encoding.
type kind struct {
	code        byte
	level       int // the lowest FeatureLevel that understands it
	commandType reflect.Type
	fields      *compact.Levels                               // of the command's type
	encode      func(entry []byte, c Command) ([]byte, error) // appends to entry
	decode      func([]byte) (Command, error)
}

// kindOf returns a kind with JSON encoding, which people can read in a damaged log.
func kindOf[C Command](code byte, level int) kind { return newKind[C](codec.JSON, code, level) }

// compactKindOf returns a kind with the compact encoding. It is for frequent commands, because decoding JSON would cost
// each server more than applying them, and for commands with repeated strings, because the reader interns them.
func compactKindOf[C Command](code byte, level int) kind {
	return newKind[C](codec.Compact, code, level)
}

// newKind returns a kind with that codec. Commands are given as values or pointers, and decoded as values.
func newKind[C Command](f codec.Codec, code byte, level int) kind {
	encode := func(entry []byte, c Command) ([]byte, error) {
		value, ok := c.(C)
		if !ok {
			value = *any(c).(*C)
		}
		return f.Append(entry, &value)
	}
	decode := func(body []byte) (Command, error) {
		var c C
		if err := f.Read(body, &c); err != nil {
			return nil, fmt.Errorf("decode %T: %w: %w", c, err, ErrNewer)
		}
		return c, nil
	}
	of := reflect.TypeFor[C]()
	return kind{code: code, level: level, commandType: of, fields: compact.LevelsOf(of), encode: encode, decode: decode}
}

// kindsOf lists the kinds of a command, the oldest first.
func kindsOf(c Command) (known []kind) {
	of := reflect.TypeOf(c)
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return kindsByType[of]
}

func byType(kinds []kind) map[reflect.Type][]kind {
	byType := map[reflect.Type][]kind{}
	for _, k := range kinds {
		byType[k.commandType] = append(byType[k.commandType], k)
	}
	return byType
}
