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
)

// A snapshot is a line of JSON, the header, then a record for each object, and an end with the number of records and the
// SHA-256 of every byte before it. The records of format 1 are lines of JSON (see lines), those of format 2 are compact (see
// chunks).
const (
	formatLines  = 1
	formatChunks = 2
)

// chunksLevel is the feature level that brought the second format.
const chunksLevel = 4

type snapshotHeader struct {
	Format  int `json:"pinionSnapshot"`
	Feature int `json:"featureLevel"`
}

type snapshotTrailer struct {
	Records int    `json:"records"`
	SHA256  string `json:"sha256"`
}

// ErrDamaged is what Restore answers to a snapshot that is not as it was written.
var ErrDamaged = errors.New("the snapshot is damaged or cut short: restore another one")

// recordWriter writes the records of one format.
type recordWriter interface {
	record(table anyTable, object any) error
	end(e snapshotTrailer) error
}

// WriteSnapshot writes the whole view. Equal states write equal bytes. It claims the level that every server
// understands, which nothing in it exceeds, so that servers of two versions can send it to each other.
func (v *View) WriteSnapshot(w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	if err := v.writeSnapshot(buffered, v.MinFeatureLevel()); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return buffered.Flush()
}

func (v *View) writeSnapshot(w io.Writer, level int) error {
	sum := sha256.New()
	both := io.MultiWriter(w, sum)
	header := snapshotHeader{Format: formatLines, Feature: level}
	var records recordWriter = lineWriter{json.NewEncoder(both)}
	if level >= chunksLevel {
		header.Format, records = formatChunks, &chunkWriter{out: both}
	}
	if err := json.NewEncoder(both).Encode(header); err != nil {
		return err
	}
	written := 0
	for _, table := range tables {
		for object := range table.objects(v) {
			if err := records.record(table, object); err != nil {
				return err
			}
			written++
		}
	}
	return records.end(snapshotTrailer{Records: written, SHA256: hex.EncodeToString(sum.Sum(nil))})
}

// Restore replaces everything in the state by the snapshot. Whoever waits for a change of the old state is woken.
// When the snapshot is damaged (ErrDamaged) or newer than this version (ErrNewer) the state stays as it was.
func (s *State) Restore(r io.Reader) error {
	rows := *emptyTables()
	if err := rows.read(&snapshotReader{in: bufio.NewReaderSize(r, 1<<20), sum: sha256.New()}); err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	s.versions.Store(&rows)
	s.changes.reset(s.View().Index())
	s.hostWatches.notifyAll()
	return nil
}

// recordReader reads the records of one format.
type recordReader interface {
	// next is the object of the next record, or the end: then the table is nil, and what stands there is compared with what
	// should.
	next(read int) (table anyTable, object any, err error)
}

func (rows tableVersions) read(r *snapshotReader) error {
	format, err := r.header()
	if err != nil {
		return err
	}
	var records recordReader = &lineReader{snapshotReader: r}
	if format == formatChunks {
		records = &chunkReader{snapshotReader: r}
	}
	objects := make([][]any, len(tables))
	for read := 0; ; read++ {
		table, object, err := records.next(read)
		if err != nil {
			return err
		}
		if table == nil {
			break
		}
		place := table.tableInfo().position
		objects[place] = append(objects[place], object)
	}
	for i, table := range tables {
		table.bulkLoad(rows[i], objects[i])
	}
	return nil
}

// snapshotReader reads a snapshot, and keeps the sum of what was read.
type snapshotReader struct {
	in  *bufio.Reader
	sum hash.Hash
}

func (r *snapshotReader) header() (format int, err error) {
	line, err := r.in.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	r.sum.Write(line)
	var header snapshotHeader
	if err := json.Unmarshal(line, &header); err != nil || header.Format < formatLines {
		return 0, fmt.Errorf("this is not a snapshot of Pinion: %w", ErrDamaged)
	}
	if header.Format > formatChunks || header.Feature > FeatureLevel {
		return 0, fmt.Errorf("format %d, feature level %d; this version reads up to %d and %d: %w",
			header.Format, header.Feature, formatChunks, FeatureLevel, ErrNewer)
	}
	return header.Format, nil
}

// finish compares the end with what was read, which found says in the same words, and sees that nothing follows.
func (r *snapshotReader) finish(found, expected []byte) error {
	if string(found) != string(expected) {
		return fmt.Errorf("read %s, but it ends with %s: %w", expected, found, ErrDamaged)
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more data follows the end: %w", ErrDamaged)
	}
	return nil
}

// trailer is the end that belongs to so many records, which were read.
func (r *snapshotReader) trailer(records int) snapshotTrailer {
	return snapshotTrailer{Records: records, SHA256: hex.EncodeToString(r.sum.Sum(nil))}
}

// truncated is what a snapshot without an end is.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the end is missing: %w", ErrDamaged)
	}
	return err
}

// tableNamed is nil when there is none.
func tableNamed(name string) anyTable {
	for _, table := range tables {
		if table.tableInfo().name == name {
			return table
		}
	}
	return nil
}
