package changelog

import "errors"

// View is a read of a state.
type View interface {
	Index() uint64 // of the last change that it has
}

// State is the state that a Follower follows.
type State[V View, C any] interface {
	View() V
	Changes(after Position, limit int) (changes []C, more <-chan struct{}, err error)
}

// Follower keeps an index or cache that is derived from the state up to date: Rebuild derives it from a view, Apply updates
// it by the changes since then. When changes were compacted before it read them (see CompactedError), it rebuilds, so no
// change is missed. It is not safe for concurrent use.
type Follower[V View, C interface{ LogPosition() Position }] struct {
	State   State[V, C]
	Rebuild func(v V)              // derives everything from v
	Apply   func(v V, changes []C) // applies changes, oldest first; v includes all of them, and maybe later ones
	Limit   int                    // changes of one Apply at most; 0: no limit

	position Position
	built    bool
}

// Step rebuilds at its first call, and applies the changes since the last step afterwards. progress is false when there
// were none; changed is then closed at the next change.
func (f *Follower[V, C]) Step() (progress bool, changed <-chan struct{}) {
	if !f.built {
		f.rebuild()
		return true, nil
	}
	limit := f.Limit
	if limit == 0 {
		limit = Max * 2 // more than is remembered
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
	f.position = changes[len(changes)-1].LogPosition()
	return true, nil
}

// CatchUp steps until no change is left. It returns a view of that moment or later, and a channel that is closed at the
// next change.
func (f *Follower[V, C]) CatchUp() (v V, changed <-chan struct{}) {
	for {
		progress, changed := f.Step()
		if !progress {
			return f.State.View(), changed
		}
	}
}

// Reset makes the next step rebuild.
func (f *Follower[V, C]) Reset() { f.built = false }

func (f *Follower[V, C]) rebuild() {
	v := f.State.View()
	f.position, f.built = After(v.Index()), true
	f.Rebuild(v)
}
