package history

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"pinion/raftfsm/ended"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
)

// key orders tasks by the moment at which they stopped, then by id.
type key [24]byte

// keyAt is the first key of a moment, as sortkey.Time has it.
func keyAt(moment int64) (k key) {
	binary.BigEndian.PutUint64(k[:], uint64(moment)^1<<63) // negative ones sort first
	return k
}

func (k key) moment() int64 { return int64(binary.BigEndian.Uint64(k[:]) ^ 1<<63) }
func (k *key) id() []byte   { return k[8:] }

// toKey reads a key of the database, or the beginning of one.
func toKey(text []byte) (k key) {
	copy(k[:], text)
	return k
}

// record is a task under its key.
type record struct {
	key  key
	task ended.Task
}

func (r record) compare(other record) int { return bytes.Compare(r.key[:], other.key[:]) }

// stoppedAt is the moment under which a task is kept. Every server computes the same one.
func stoppedAt(t *spec.Task) int64 { return sortkey.Time(cmp.Or(t.Times.Stopped, t.CreatedAt)) }

// newRecord is the record of a task. The error is about its id.
func newRecord(t ended.Task) (record, error) {
	k := keyAt(stoppedAt(&t.Task))
	id, err := hex.DecodeString(t.Task.ID)
	if err != nil || len(id) != len(k.id()) {
		return record{}, fmt.Errorf("task %q cannot be kept: its id is not 32 hex digits", t.Task.ID)
	}
	copy(k.id(), id)
	return record{k, t}, nil
}

// sorted are the records of tasks in order, each once.
func sorted(tasks []ended.Task) ([]record, error) {
	records := make([]record, 0, len(tasks))
	for _, t := range tasks {
		r, err := newRecord(t)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	slices.SortStableFunc(records, record.compare)
	return slices.CompactFunc(records, func(a, b record) bool { return a.key == b.key }), nil
}
