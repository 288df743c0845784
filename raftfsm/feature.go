package raftfsm

import (
	"fmt"
	"reflect"
)

// FeatureLevel grows by one with each release that brings a command, or a field of a command or an object, that servers of the release
// before would not understand. A new command says its level in the table of kinds, a new field in its tag (see fieldLevels).
const FeatureLevel = 1

// ownLevel is FeatureLevel; tests of what comes after it raise it.
var ownLevel = FeatureLevel

// ErrTooNew refuses a command that a server of the pool would not understand.
var ErrTooNew = fmt.Errorf("a server of the pool runs an older version of Pinion that cannot do this: upgrade it first (see `pinion hosts`)")

// MinFeatureLevel is the level that every server of the pool understands. Without a server on record the pool is one host,
// and that host is the reader.
func (v *View) MinFeatureLevel() int {
	lowest := ownLevel
	for _, host := range v.Servers() {
		lowest = min(lowest, max(host.FeatureLevel, 1))
	}
	return lowest
}

// MayWrite says whether every server of the pool understands the command: ErrTooNew when one does not.
func (v *View) MayWrite(c Command) error { return mayWrite(c, v.MinFeatureLevel()) }

// mayWrite says whether servers of that level understand the command.
func mayWrite(c Command, understood int) error {
	known := kindsOf(c)
	if len(known) == 0 {
		return nil
	}
	level := max(known[0].level, known[0].fields.needed(reflect.Indirect(reflect.ValueOf(c))))
	if level <= understood {
		return nil
	}
	return fmt.Errorf("%v: %w", known[0].commandType, ErrTooNew)
}
