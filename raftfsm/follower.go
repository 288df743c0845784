package raftfsm

import (
	"errors"

	"pinion/raftfsm/changelog"
)

// Follower keeps an index or cache that is derived from the state up to date: Rebuild derives it from a view, Apply updates
// it by the changes since then. When changes were compacted before it read them (see CompactedError), it rebuilds, so no
// change is missed. It is not safe for concurrent use.
type Follower struct {
	State   *State
	Rebuild func(v *View)                    // derives everything from v
	Apply   func(v *View, changes []*Change) // applies changes, oldest first; v includes all of them, and maybe later ones
	Limit   int                              // changes of one Apply at most; 0: no limit

	position Position
	built    bool
}

// Step rebuilds at its first call, and applies the changes since the last step afterwards. progress is false when there
// were none; changed is then closed at the next change.
func (f *Follower) Step() (progress bool, changed <-chan struct{}) {
	if !f.built {
		f.rebuild()
		return true, nil
	}
	limit := f.Limit
	if limit == 0 {
		limit = changelog.Max * 2 // more than is remembered
	}
	changes, changed, err := f.State.Changes(f.position, limit)
	if errors.As(err, new(*CompactedError)) {
		f.rebuild()
		return true, nil
	}
	if len(changes) == 0 {
		return false, changed
	}
	f.Apply(f.State.View(), changes)
	f.position = changes[len(changes)-1].Position
	return true, nil
}

// CatchUp steps until no change is left. It returns a view of that moment or later, and a channel that is closed at the
// next change.
func (f *Follower) CatchUp() (v *View, changed <-chan struct{}) {
	for {
		progress, changed := f.Step()
		if !progress {
			return f.State.View(), changed
		}
	}
}

// Reset makes the next step rebuild.
func (f *Follower) Reset() { f.built = false }

func (f *Follower) rebuild() {
	v := f.State.View()
	f.position, f.built = PositionAfter(v.Index()), true
	f.Rebuild(v)
}
