package raftfsm

import "pinion/raftfsm/codec"

// Command changes the state. A command is one type with its apply beside it, in the file of its noun, and one line in the descriptor
// of that noun. apply is pure: the same state and command give the same new state and answer on every server. A refusal is an error
// and changes nothing.
//
// A command belongs to the state once it is applied: the caller must not change it, or what it points to, afterwards.
type Command interface {
	apply(tx *tx) (any, error)
}

// FeatureLevel is incremented by each release that adds a command, or a field of a command or an object, that servers of
// the previous release do not understand. A new command has its level in the table of kinds, a new field in its tag (see
// compact.Levels).
const FeatureLevel = 1

// ownLevel is FeatureLevel; tests of later levels raise it.
var ownLevel = FeatureLevel

// What callers need of package codec.
var (
	// ErrNewer is the error of Decode and Restore for data of a newer version, which this version cannot read.
	ErrNewer = codec.ErrNewer
	// ErrTooNew refuses a command that a server of the pool does not understand.
	ErrTooNew = codec.ErrTooNew
)

// kind is one line of the table of kinds.
type kind = codec.Kind[Command]

// commonKinds are the commands for all nouns; the descriptor of a noun lists its own.
var commonKinds = []kind{
	kindOf[SetTags](30, 1),
	kindOf[Reap](37, 1),
}

// kindOf returns a kind with JSON encoding, which people can read in a damaged log.
func kindOf[C Command](code byte, level int) kind {
	return codec.NewKind[Command, C](codec.JSON, code, level)
}

// compactKindOf returns a kind with the compact encoding. It is for frequent commands, because decoding JSON would cost
// each server more than applying them, and for commands with repeated strings, because the reader interns them.
func compactKindOf[C Command](code byte, level int) kind {
	return codec.NewKind[Command, C](codec.Compact, code, level)
}

// Encode makes the log entry of a command for servers of this version: one byte, the kind, and the command as JSON or compact.
func Encode(c Command) ([]byte, error) { return kinds.Encode(c, ownLevel) }

// Decode reads a log entry. An unknown kind or field is ErrNewer: a server that skipped it would diverge from its peers.
func Decode(entry []byte) (Command, error) { return kinds.Decode(entry) }

// Encode makes the log entry of a command that every server of the pool understands, or returns ErrTooNew. Every proposal
// uses it: a committed entry has to be applied, so apply cannot refuse it.
func (v *View) Encode(c Command) ([]byte, error) {
	if err := v.MayWrite(c); err != nil {
		return nil, err
	}
	return kinds.Encode(c, v.MinFeatureLevel())
}

// MayWrite returns ErrTooNew unless every server of the pool understands the command.
func (v *View) MayWrite(c Command) error { return kinds.MayWrite(c, v.MinFeatureLevel()) }

// MinFeatureLevel is the level that every server of the pool understands. A pool without a recorded server has one host,
// the caller.
func (v *View) MinFeatureLevel() int {
	lowest := ownLevel
	for _, host := range v.Servers() {
		lowest = min(lowest, max(host.FeatureLevel, 1))
	}
	return lowest
}
