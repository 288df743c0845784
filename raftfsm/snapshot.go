package raftfsm

import (
	"bufio"
	"fmt"
	"io"
	"iter"

	"pinion/raftfsm/snapshot"
	"pinion/raftfsm/table"
	"pinion/raftfsm/tally"
)

// ErrDamaged is the error of Restore for a snapshot that was damaged after it was written.
var ErrDamaged = snapshot.ErrDamaged

// WriteSnapshot writes the whole view. Equal states write equal bytes. The header claims the level that every server of the pool
// understands, which nothing in the snapshot exceeds, so that servers of two versions can send it to each other.
func (v *View) WriteSnapshot(w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	if err := v.writeSnapshot(buffered); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return buffered.Flush()
}

func (v *View) writeSnapshot(w io.Writer) error {
	return snapshot.Write(w, v.MinFeatureLevel(), v.objects())
}

// objects visits every object with the name of its table.
func (v *View) objects() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, t := range tables {
			for object := range t.Objects(v) {
				if !yield(t.Name(), object) {
					return
				}
			}
		}
	}
}

// Restore replaces the whole state by the snapshot, and wakes every watch. When the snapshot is damaged (ErrDamaged) or newer than this
// version (ErrNewer) the state stays as it was.
func (s *State) Restore(r io.Reader) error {
	objects := make([][]any, len(tables))
	put := func(of snapshot.Table, object any) {
		position := of.(anyTable).Position()
		objects[position] = append(objects[position], object)
	}
	if err := snapshot.Read(bufio.NewReaderSize(r, 1<<20), ownLevel, tableToRead, put); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	s.current.Store(&View{versions: table.Load(tables, objects), tallies: tally.Count(objects), state: s})
	s.changes.Reset(s.View().Index())
	s.hostWatches.NotifyAll()
	s.routing.NotifyIf(true)
	s.applied.Notify()
	return nil
}

// tableToRead returns nil when no table has the name.
func tableToRead(name string) snapshot.Table {
	if t := tableNamed(name); t != nil {
		return t
	}
	return nil
}

// tableNamed returns nil when no table has the name.
func tableNamed(name string) anyTable {
	for _, t := range tables {
		if t.Name() == name {
			return t
		}
	}
	return nil
}
