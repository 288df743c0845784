package raftfsm

import "fmt"

// FeatureLevel grows when commands or objects get something that older versions would not understand. 1 was a pool of
// one host; 2 brought pools of many; 3 the whole task API of ECS, sealed access keys, and tasks that wait for a place; 4 the
// compact form of frequent log entries and of snapshots.
const FeatureLevel = 4

// ErrTooNew refuses a command that a server of the pool would not understand.
var ErrTooNew = fmt.Errorf("a server of the pool runs an older version of Pinion that cannot do this: upgrade it first (see `pinion hosts`)")

// MinFeatureLevel is the level that every server of the pool understands. Without a server on record the pool is one host,
// and that host is the reader.
func (v *View) MinFeatureLevel() int {
	lowest := FeatureLevel
	for _, host := range v.Servers() {
		lowest = min(lowest, max(host.FeatureLevel, 1)) // level 1 did not say so
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
	level := known[0].level
	if n, ok := c.(versioned); ok {
		level = max(level, n.level())
	}
	if level <= understood {
		return nil
	}
	return fmt.Errorf("%v: %w", known[0].commandType, ErrTooNew)
}

// versioned is a command whose kind is older than something that it can hold: level is what this one needs.
type versioned interface{ level() int }
