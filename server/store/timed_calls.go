package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/failpoint"
)

// Every call below has a watchdog: a leader's heartbeats do not touch its disk, so without one a leader with a hung disk would
// keep the leadership and stall the pool for ever.

// FirstIndex is the lowest index in the log, 0 when it is empty.
func (s *Store) FirstIndex() (uint64, error) {
	defer s.startWatchdog("FirstIndex")()
	return s.inner.FirstIndex()
}

// LastIndex is the highest index in the log, 0 when it is empty.
func (s *Store) LastIndex() (uint64, error) {
	defer s.startWatchdog("LastIndex")()
	return s.inner.LastIndex()
}

// GetLog reads one record. raft.ErrLogNotFound when there is none; *Damage when it is not what was written.
func (s *Store) GetLog(index uint64, l *raft.Log) error {
	defer s.startWatchdog("GetLog")()
	err := s.inner.GetLog(index, l)
	switch {
	case errors.Is(err, raft.ErrLogNotFound):
		return err
	case err != nil:
		return s.fatal(&Damage{Path: s.opts.Path, Index: index, What: err.Error()})
	case !verifyChecksum(l, index):
		return s.fatal(&Damage{Path: s.opts.Path, Index: index, What: "wrong checksum"})
	}
	return nil
}

// StoreLog writes one record.
func (s *Store) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs writes records in one commit. After an error none of them is in the log, and a leader steps down.
func (s *Store) StoreLogs(logs []*raft.Log) error {
	defer s.startWatchdog("StoreLogs")()
	sealed := make([]*raft.Log, len(logs))
	for i, l := range logs {
		sealed[i] = addChecksum(l)
	}
	failpoint.Reached(failpoint.EntryStoring)
	begun := time.Now()
	if err := s.inner.StoreLogs(sealed); err != nil {
		return fmt.Errorf("write to the log %s: %w", s.opts.Path, err)
	}
	s.Writes.Observe(time.Since(begun).Seconds())
	for _, l := range logs {
		s.bytes.Add(int64(len(l.Data) + len(l.Extensions)))
	}
	s.records.Add(int64(len(logs)))
	failpoint.Reached(failpoint.EntryStored)
	return nil
}

// Written is how many records, and bytes in them, StoreLogs has written since Open.
func (s *Store) Written() (records, bytes int64) { return s.records.Load(), s.bytes.Load() }

// DeleteRange removes the records from min to max, both included.
func (s *Store) DeleteRange(min, max uint64) error {
	defer s.startWatchdog("DeleteRange")()
	return s.inner.DeleteRange(min, max)
}

// ErrNotFound is of a value that was never set. It has the text by which Raft recognizes that.
var ErrNotFound = errors.New("not found")

// Get reads a stable value; an error with the text "not found" when it was never set.
func (s *Store) Get(key []byte) ([]byte, error) {
	defer s.startWatchdog("Get")()
	sealed, err := s.inner.Get(key)
	if err != nil && err.Error() == ErrNotFound.Error() {
		return nil, ErrNotFound
	}
	what := "wrong checksum"
	if err != nil {
		what = err.Error()
	}
	value, ok := verifyValueChecksum(key, sealed)
	if err != nil || !ok {
		return nil, s.fatal(&Damage{Path: s.opts.Path, What: fmt.Sprintf("stable value %q: %s", key, what)})
	}
	return value, nil
}

// GetUint64 is Get for the numbers that SetUint64 stores.
func (s *Store) GetUint64(key []byte) (uint64, error) {
	value, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, s.fatal(&Damage{Path: s.opts.Path, What: fmt.Sprintf("stable value %q is no number", key)})
	}
	return binary.BigEndian.Uint64(value), nil
}

// SetUint64 is Set for a number.
func (s *Store) SetUint64(key []byte, value uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, value))
}
