package raftfsm

import (
	"fmt"
	"reflect"
)

// FeatureLevel is incremented by each release that adds a command, or a field of a command or an object, that servers of
// the previous release do not understand. A new command has its level in the table of kinds, a new field in its tag (see
// compact.Levels).
const FeatureLevel = 1

// ownLevel is FeatureLevel; tests of later levels raise it.
var ownLevel = FeatureLevel

// ErrTooNew refuses a command that a server of the pool does not understand.
var ErrTooNew = fmt.Errorf("a server of the pool runs an older version of Pinion that cannot do this: upgrade it first (see `pinion hosts`)")

// MinFeatureLevel is the level that every server of the pool understands. A pool without a recorded server has one host,
// the caller.
func (v *View) MinFeatureLevel() int {
	lowest := ownLevel
	for _, host := range v.Servers() {
		lowest = min(lowest, max(host.FeatureLevel, 1))
	}
	return lowest
}

// MayWrite returns ErrTooNew unless every server of the pool understands the command.
func (v *View) MayWrite(c Command) error { return mayWrite(c, v.MinFeatureLevel()) }

// mayWrite returns ErrTooNew unless servers of that level understand the command.
func mayWrite(c Command, understood int) error {
	known := kindsOf(c)
	if len(known) == 0 {
		return nil
	}
	level := max(known[0].level, known[0].fields.Needed(reflect.Indirect(reflect.ValueOf(c))))
	if level <= understood {
		return nil
	}
	return fmt.Errorf("%v: %w", known[0].commandType, ErrTooNew)
}
