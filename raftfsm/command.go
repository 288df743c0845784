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

// kinds is the table of commands. It is append-only: a kind byte is never used again for another command, and a
// command that gets a new meaning gets a new kind, because logs written before are applied again. Beside the kind
// stands the feature level that brought it.
var kinds = []kind{
	kindOf[CreatePool](1, 1),
	kindOf[PutSettings](2, 1),
	kindOf[PutCA](3, 1),
	kindOf[CreateJoinToken](4, 1),
	kindOf[RevokeJoinToken](5, 1),
	kindOf[AdmitHost](6, 1),
	compactKindOf[PutHost](7, 1),
	kindOf[SetHostStatus](8, 1),
	kindOf[SetServerRole](9, 1),
	kindOf[MarkHostLost](10, 1),
	kindOf[RemoveHost](11, 1),
	kindOf[PutAttributes](12, 1),
	kindOf[DeleteAttributes](13, 1),
	kindOf[CreateCluster](14, 1),
	kindOf[UpdateCluster](15, 1),
	kindOf[DeleteCluster](16, 1),
	kindOf[PutClusterCapacityProviders](17, 1),
	kindOf[CreateCapacityProvider](18, 1),
	kindOf[UpdateCapacityProvider](19, 1),
	kindOf[DeleteCapacityProvider](20, 1),
	kindOf[RegisterDefinition](21, 1),
	kindOf[DeregisterDefinition](22, 1),
	kindOf[DeleteDefinitions](23, 1),
	compactKindOf[LaunchTasks](24, 1),
	compactKindOf[PlaceTasks](25, 1),
	compactKindOf[RetryTasks](26, 1),
	compactKindOf[ReportTasks](27, 1),
	kindOf[StopTask](28, 1),
	kindOf[ResolveDependencies](29, 1),
	kindOf[SetTags](30, 1),
	kindOf[PutTeam](31, 1),
	kindOf[DeleteTeam](32, 1),
	kindOf[PutAccountSetting](33, 1),
	kindOf[DeleteAccountSetting](34, 1),
	kindOf[CreateAccessKey](35, 1),
	kindOf[DeleteAccessKey](36, 1),
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

var kindsByType = byType(kinds)

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
