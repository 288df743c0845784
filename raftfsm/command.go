package raftfsm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"pinion/raftfsm/compact"
)

// Command changes the state. A command is one type with its apply beside it, in the file of its noun, and one line in
// the table of kinds. apply is pure: the same state and command give the same new state and answer everywhere. A
// refusal is a returned error and changes nothing.
//
// A command belongs to the state once it is applied: its maker does not touch it, or what it points to, any more.
type Command interface {
	apply(tx *tx) (any, error)
}

// commonKinds are the commands of all nouns; those of one noun stand with it.
var commonKinds = []kind{
	kindOf[SetTags](30, 1),
	kindOf[Reap](37, 1),
}

// ErrNewer is what Decode and Restore answer to data that this version cannot read: a newer one wrote it.
var ErrNewer = errors.New("written by a newer version of Pinion, or damaged: start this host with that version")

// Encode turns a command into a log entry for servers of this version: one kind byte and the command in the form of that kind,
// JSON or compact.
func Encode(c Command) ([]byte, error) { return encode(c, ownLevel) }

// Encode turns a command into a log entry that every server of the pool understands: ErrTooNew when there is none. Whoever puts
// a command into the log does it so; apply cannot refuse, because what is in the log has to be applied.
func (v *View) Encode(c Command) ([]byte, error) {
	level := v.MinFeatureLevel()
	if err := mayWrite(c, level); err != nil {
		return nil, err
	}
	return encode(c, level)
}

// encode takes the newest kind for the command that servers of that level know, or the oldest one there is.
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

// Decode reads a log entry back. An unknown kind and a field that this version does not know are ErrNewer: a server
// that left something out would hold another state than its peers from then on.
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

// kind is one line of the table.
type kind struct {
	code        byte
	level       int // the first FeatureLevel that knows it
	commandType reflect.Type
	fields      *fieldLevels                                  // of what the command can hold
	encode      func(entry []byte, c Command) ([]byte, error) // appends to entry
	decode      func([]byte) (Command, error)
}

// kindOf is a kind whose form is JSON, which can be read in a broken log.
func kindOf[C Command](code byte, level int) kind { return newKind[C](jsonCodec, code, level) }

// compactKindOf is a kind for commands of which there are thousands a second, because JSON would cost each server more than all the
// rest of applying them, and for those that say one text over and over, which is one string after it was read.
func compactKindOf[C Command](code byte, level int) kind {
	return newKind[C](compactCodec, code, level)
}

// codec is how the commands of a kind are written: write appends what value points to, read reads it.
type codec struct {
	write func(entry []byte, value any) ([]byte, error)
	read  func(body []byte, into any) error
}

var (
	jsonCodec = codec{
		write: func(entry []byte, value any) ([]byte, error) {
			body, err := json.Marshal(value)
			return append(entry, body...), err
		},
		read: decodeStrictly,
	}
	compactCodec = codec{
		write: func(entry []byte, value any) ([]byte, error) { return new(compact.Writer).Append(entry, value), nil },
		read:  func(body []byte, into any) error { return new(compact.Reader).Read(body, into) },
	}
)

// newKind is a kind of one form. Commands are values or point to one, and come back as values.
func newKind[C Command](f codec, code byte, level int) kind {
	encode := func(entry []byte, c Command) ([]byte, error) {
		value, ok := c.(C)
		if !ok {
			value = *any(c).(*C)
		}
		return f.write(entry, &value)
	}
	decode := func(body []byte) (Command, error) {
		var c C
		if err := f.read(body, &c); err != nil {
			return nil, fmt.Errorf("decode %T: %w: %w", c, err, ErrNewer)
		}
		return c, nil
	}
	of := reflect.TypeFor[C]()
	return kind{code: code, level: level, commandType: of, fields: fieldLevelsOf(of), encode: encode, decode: decode}
}

// kindsOf are the kinds for a command, the oldest first.
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

// decodeStrictly reads exactly one JSON value and refuses fields that into does not have.
func decodeStrictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more data follows the value")
	}
	return nil
}
