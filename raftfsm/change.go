package raftfsm

import (
	"slices"
	"time"

	"pinion/raftfsm/change"
	"pinion/raftfsm/changelog"
)

// What readers of the changes need of package changelog.
type (
	// Position is a place in the log, the same on every server.
	Position = changelog.Position
	// CompactedError is the error of Changes when the changes after the position are not remembered.
	CompactedError = changelog.CompactedError
	// Follower keeps what is derived from the state up to date.
	Follower = changelog.Follower[*View, *Change]
)

// What readers of the changes need of package change.
type (
	// Change is the version of one object after a log entry.
	Change = change.Change
	// ChangeKind is the kind of object in a change.
	ChangeKind = change.Kind
)

// The kinds of changes.
const (
	TaskChange    = change.Task
	HostChange    = change.Host
	ClusterChange = change.Cluster
	GPUChange     = change.GPU
	LeaderChange  = change.Leader

	ServiceChange       = change.Service
	ServiceActionChange = change.ServiceAction
	DeploymentChange    = change.Deployment
	HookChange          = change.Hook
)

// ChangeKinds lists the kinds that the nouns have registered.
var ChangeKinds []ChangeKind

// PositionAfter is the position after all changes of an entry.
func PositionAfter(index uint64) Position { return changelog.After(index) }

// Changes lists at most limit changes after a position, oldest first. When there are none, more is closed at the next
// change. The error is a *CompactedError.
func (s *State) Changes(after Position, limit int) (changes []*Change, more <-chan struct{}, err error) {
	return s.changes.After(after, limit)
}

// changesOf lists the changes of the command at an index in its order, as the descriptors of the nouns make them.
func changesOf(index uint64, at time.Time, all []mutation) []*Change {
	changes := make([]*Change, 0, len(all))
	for _, m := range coalesce(all) {
		if m.table != nil {
			changes = append(changes, m.table.changesOf(m.before, m.after)...)
		}
	}
	for i, c := range changes {
		c.Position, c.At = Position{Index: index, Offset: i}, at
	}
	return changes
}

// coalesce merges several changes of one object by a command: the result goes from its first version to its last.
func coalesce(all []mutation) []mutation {
	if !slices.ContainsFunc(all, func(m mutation) bool { return m.before != nil }) {
		return all // every object is new, as after a launch
	}
	at := make(map[any]int, len(all)) // index in the result of an object's change
	for i, m := range all {
		if earlier, again := at[m.before]; again {
			all[i].before = all[earlier].before
			all[earlier] = mutation{}
		}
		if m.after != nil {
			at[m.after] = i
		}
	}
	return all
}

// ChangesEnd is the position up to which Changes knows every change. A reader that was told of none after its own position has missed
// nothing up to where this was before it asked; of a View that is not so: the state has an entry a moment before Changes has it.
func (s *State) ChangesEnd() Position { return s.changes.End() }
