package raftfsm

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"pinion/raftfsm/tally"
)

// snapshotFormat is the format of a snapshot: a line of JSON, the header, then a record for each object (see recordWriter), and a trailer
// with the number of records and the SHA-256 of every byte before it.
const snapshotFormat = 1

type snapshotHeader struct {
	Format  int `json:"pinionSnapshot"`
	Feature int `json:"featureLevel"`
}

type snapshotTrailer struct {
	Records int    `json:"records"`
	SHA256  string `json:"sha256"`
}

// ErrDamaged is the error of Restore for a snapshot that was damaged after it was written.
var ErrDamaged = errors.New("the snapshot is damaged or cut short: restore another one")

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
	sum := sha256.New()
	records := &recordWriter{out: io.MultiWriter(w, sum)}
	if err := json.NewEncoder(records.out).Encode(snapshotHeader{snapshotFormat, v.MinFeatureLevel()}); err != nil {
		return err
	}
	written := 0
	for _, table := range tables {
		for object := range table.objects(v) {
			if err := records.write(table, object); err != nil {
				return err
			}
			written++
		}
	}
	return records.end(snapshotTrailer{Records: written, SHA256: hex.EncodeToString(sum.Sum(nil))})
}

// Restore replaces the whole state by the snapshot, and wakes every watch. When the snapshot is damaged (ErrDamaged) or newer than this
// version (ErrNewer) the state stays as it was.
func (s *State) Restore(r io.Reader) error {
	versions := *emptyTables()
	reader := &recordReader{snapshotReader: &snapshotReader{in: bufio.NewReaderSize(r, 1<<20), sum: sha256.New()}}
	if err := versions.read(reader); err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	s.versions.Store(&versions)
	s.changes.Reset(s.View().Index())
	s.hostWatches.NotifyAll()
	s.applied.Notify()
	return nil
}

func (versions tableVersions) read(r *recordReader) error {
	if err := r.header(); err != nil {
		return err
	}
	objects := make([][]any, len(tables))
	for read := 0; ; read++ {
		table, object, err := r.next(read)
		if err != nil {
			return err
		}
		if table == nil {
			break
		}
		position := table.tableInfo().position
		objects[position] = append(objects[position], object)
	}
	for i, table := range tables {
		table.bulkLoad(versions[i], objects[i])
	}
	versions[talliesAt()] = tally.Count(objects)
	return nil
}

// noSnapshotError is an ErrDamaged that does not even begin as a snapshot does.
type noSnapshotError struct{}

func (noSnapshotError) Error() string { return "this is not a snapshot of Pinion" }
func (noSnapshotError) Unwrap() error { return ErrDamaged }

// snapshotReader reads a snapshot and sums up what was read.
type snapshotReader struct {
	in  *bufio.Reader
	sum hash.Hash
}

func (r *snapshotReader) header() error {
	line, err := r.in.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r.sum.Write(line)
	var header snapshotHeader
	if err := json.Unmarshal(line, &header); err != nil || header.Format < 1 {
		return noSnapshotError{}
	}
	if header.Format > snapshotFormat || header.Feature > ownLevel {
		return fmt.Errorf("format %d, feature level %d; this version reads up to %d and %d: %w",
			header.Format, header.Feature, snapshotFormat, ownLevel, ErrNewer)
	}
	return nil
}

// finish checks the trailer against the content that was read, and that nothing follows it.
func (r *snapshotReader) finish(found, expected []byte) error {
	if string(found) != string(expected) {
		return fmt.Errorf("read %s, but it ends with %s: %w", expected, found, ErrDamaged)
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more data follows the end: %w", ErrDamaged)
	}
	return nil
}

// trailer returns the expected trailer after that many records.
func (r *snapshotReader) trailer(records int) snapshotTrailer {
	return snapshotTrailer{Records: records, SHA256: hex.EncodeToString(r.sum.Sum(nil))}
}

// truncated converts the end of the file to ErrDamaged.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the end is missing: %w", ErrDamaged)
	}
	return err
}

// tableNamed returns nil when no table has the name.
func tableNamed(name string) anyTable {
	for _, table := range tables {
		if table.tableInfo().name == name {
			return table
		}
	}
	return nil
}
