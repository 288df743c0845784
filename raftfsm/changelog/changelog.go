// Package changelog remembers what the newest log entries have changed, for readers that follow the state.
//
// The newest 20,000 changes at least are remembered, some 30 MB when the state has none of their objects any more. They are not in snapshots: a
// server that restored one answers CompactedError for what was before.
package changelog

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Max is the least number of changes that a Log keeps, unless they are large (MaxBytes); it keeps a quarter more at most. They take 30 to 40 MB when
// the state has none of their objects any more. They span minutes of a busy pool, and most of a second while a queue is
// filled or drained at full rate: long enough for a follower to rebuild and continue from there.
const Max = 20_000

// MaxBytes is about how much memory the changes of a Log keep at most: a host that says much of itself, over and over, takes no more.
const MaxBytes = 256 << 20

// Position is a place in the log, the same on every server.
type Position struct {
	Index  uint64 // of the log entry
	Offset int    // index among the changes of the entry, from 0
}

// After is the position after all changes of an entry.
func After(index uint64) Position { return Position{index, math.MaxInt32} }

// Compare orders positions in the order of the changes.
func (m Position) Compare(other Position) int {
	return cmp.Or(cmp.Compare(m.Index, other.Index), cmp.Compare(m.Offset, other.Offset))
}

// CompactedError is the error of Log.After when changes after the position were compacted, or were never on this server
// because it restored a snapshot.
type CompactedError struct {
	Oldest Position // the log has every change after this position
}

// Error tells the reader to rebuild.
func (f *CompactedError) Error() string {
	return fmt.Sprintf("what was changed then is not remembered any more, only what came after %d: list what there is again, and go on from now", f.Oldest.Index)
}

// Change is an element of a Log.
type Change interface {
	LogPosition() Position
	Size() int // about how many bytes it keeps in memory
}

// Log keeps the newest changes. Readers share the list: it is append-only, and copied when it has grown too long. The zero value
// is ready.
type Log[C Change] struct {
	mu          sync.Mutex
	list        []C
	sizes       []int         // of the changes in the list
	bytes       int           // all sizes together
	compactedTo Position      // the list has every change after it
	end         Position      // after the last entry, whether that had changes or not
	changed     chan struct{} // closed at the next change; nil while nobody waits
}

// Append adds the changes of the entry at an index, which may have none.
func (l *Log[C]) Append(index uint64, changes []C) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end = After(index); len(changes) == 0 {
		return
	}
	l.list = append(l.list, changes...)
	for _, change := range changes {
		size := change.Size()
		l.sizes, l.bytes = append(l.sizes, size), l.bytes+size
	}
	if len(l.list) > Max*5/4 || l.bytes > MaxBytes { // not at each append: compaction copies the list
		l.compact()
	}
	l.notify()
}

// compact drops the oldest changes: all but Max, and more while they keep over half of MaxBytes.
func (l *Log[C]) compact() {
	extra := 0
	for ; len(l.list)-extra > Max || l.bytes > MaxBytes/2 && extra < len(l.list); extra++ {
		l.bytes -= l.sizes[extra]
	}
	if extra == 0 {
		return
	}
	l.compactedTo = l.list[extra-1].LogPosition()
	l.list, l.sizes = slices.Clone(l.list[extra:]), slices.Clone(l.sizes[extra:])
}

// Reset drops all changes, because a snapshot of that index replaced the state.
func (l *Log[C]) Reset(index uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list, l.sizes, l.bytes, l.compactedTo = nil, nil, 0, After(index)
	l.end = After(index)
	l.notify()
}

// End is the position up to which the Log has been told of every entry. The state of which it tells may be further by the entry, or the
// snapshot, that it takes in just now.
func (l *Log[C]) End() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

func (l *Log[C]) notify() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// After lists at most limit changes after a position, oldest first. When there are none, more is closed at the next
// change. The error is a *CompactedError.
func (l *Log[C]) After(mark Position, limit int) (changes []C, more <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mark.Compare(l.compactedTo) < 0 {
		return nil, nil, &CompactedError{Oldest: l.compactedTo}
	}
	from, exact := slices.BinarySearchFunc(l.list, mark, func(known C, mark Position) int { return known.LogPosition().Compare(mark) })
	if exact {
		from++
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.list[from:min(len(l.list), from+limit):len(l.list)], l.changed, nil
}
