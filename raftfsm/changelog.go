package raftfsm

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxChanges is the least number of changes that a state keeps; it keeps a quarter more at most. They take 30 to 40 MB when
// the state has none of their objects any more. They span minutes of a busy pool, and most of a second while a queue is
// filled or drained at full rate: long enough for a follower to rebuild and continue from there.
const maxChanges = 20_000

// CompactedError is the error of Changes when changes after the position were compacted, or were never on this server
// because it restored a snapshot.
type CompactedError struct {
	Oldest Position // the changelog has every change after this position
}

// Error tells the reader to rebuild.
func (f *CompactedError) Error() string {
	return fmt.Sprintf("what was changed then is not remembered any more, only what came after %d: list what there is again, and go on from now", f.Oldest.Index)
}

// Changes lists at most limit changes after a position, oldest first. When there are none, more is closed at the next
// change. The error is a *CompactedError.
func (s *State) Changes(after Position, limit int) (changes []*Change, more <-chan struct{}, err error) {
	return s.changes.after(after, limit)
}

// changelog keeps the newest changes. Readers share the list: it is append-only, and copied when it has grown too long.
type changelog struct {
	mu          sync.Mutex
	list        []*Change
	compactedTo Position      // the list has every change after it
	changed     chan struct{} // closed at the next change; nil while nobody waits
}

// append adds the changes of an entry.
func (c *changelog) append(index uint64, at time.Time, changes []*Change) {
	for i, change := range changes {
		change.Position, change.At = Position{index, i}, at
	}
	if len(changes) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, changes...)
	if extra := len(c.list) - maxChanges; extra > maxChanges/4 { // not at each append: compaction copies the list
		c.compactedTo = c.list[extra-1].Position
		c.list = slices.Clone(c.list[extra:])
	}
	c.notify()
}

// reset drops all changes, because a snapshot of that index replaced the state.
func (c *changelog) reset(index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.compactedTo = nil, PositionAfter(index)
	c.notify()
}

func (c *changelog) notify() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

func (c *changelog) after(mark Position, limit int) ([]*Change, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if mark.Compare(c.compactedTo) < 0 {
		return nil, nil, &CompactedError{Oldest: c.compactedTo}
	}
	from, exact := slices.BinarySearchFunc(c.list, mark, func(known *Change, mark Position) int { return known.Position.Compare(mark) })
	if exact {
		from++
	}
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.list[from:min(len(c.list), from+limit):len(c.list)], c.changed, nil
}
