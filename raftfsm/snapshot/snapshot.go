// Package snapshot is the format of a snapshot: a line of JSON, the header, then a record for each object (see recordWriter), and a
// trailer with the number of records and the SHA-256 of every byte before it. It knows nothing of what the objects are.
package snapshot

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"

	"pinion/raftfsm/codec"
)

// format is the number of the format that this version writes.
const format = 1

type header struct {
	Format  int `json:"pinionSnapshot"`
	Feature int `json:"featureLevel"`
}

type trailer struct {
	Records int    `json:"records"`
	SHA256  string `json:"sha256"`
}

// ErrDamaged is the error of Read for a snapshot that was damaged after it was written.
var ErrDamaged = errors.New("the snapshot is damaged or cut short: restore another one")

// Table makes the objects that are read of one table.
type Table interface {
	NewObject() any // an empty object to decode into
}

// Write writes the objects with the names of their tables, in their order. Equal objects make equal bytes. The header claims the
// feature level, which nothing in the objects may exceed. It makes many small writes.
func Write(w io.Writer, level int, objects iter.Seq2[string, any]) error {
	sum := sha256.New()
	records := &recordWriter{out: io.MultiWriter(w, sum)}
	if err := json.NewEncoder(records.out).Encode(header{format, level}); err != nil {
		return err
	}
	written := 0
	for table, object := range objects {
		if err := records.write(table, object); err != nil {
			return err
		}
		written++
	}
	return records.end(trailer{Records: written, SHA256: hex.EncodeToString(sum.Sum(nil))})
}

// Read reads a snapshot and gives each object to put. Nothing of it is true before Read has returned nil: it returns ErrDamaged for
// what was changed since it was written, and ErrNewer for a snapshot of a later format or level, or with tables that find does not know.
func Read(r *bufio.Reader, level int, find func(name string) Table, put func(of Table, object any)) error {
	records := &recordReader{summedReader: &summedReader{in: r, sum: sha256.New()}}
	if err := records.header(level); err != nil {
		return err
	}
	for read := 0; ; read++ {
		table, object, err := records.next(read, find)
		if err != nil {
			return err
		}
		if table == nil {
			return nil
		}
		put(table, object)
	}
}

// noSnapshotError is an ErrDamaged that does not even begin as a snapshot does.
type noSnapshotError struct{}

func (noSnapshotError) Error() string { return "this is not a snapshot of Pinion" }
func (noSnapshotError) Unwrap() error { return ErrDamaged }

// summedReader reads a snapshot and sums up what was read.
type summedReader struct {
	in  *bufio.Reader
	sum hash.Hash
}

func (r *summedReader) header(level int) error {
	line, err := r.in.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r.sum.Write(line)
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.Format < 1 {
		return noSnapshotError{}
	}
	if h.Format > format || h.Feature > level {
		return fmt.Errorf("format %d, feature level %d; this version reads up to %d and %d: %w", h.Format, h.Feature, format, level, codec.ErrNewer)
	}
	return nil
}

// finish checks the trailer against the content that was read, and that nothing follows it.
func (r *summedReader) finish(found, expected []byte) error {
	if string(found) != string(expected) {
		return fmt.Errorf("read %s, but it ends with %s: %w", expected, found, ErrDamaged)
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more data follows the end: %w", ErrDamaged)
	}
	return nil
}

// trailer returns the expected trailer after that many records.
func (r *summedReader) trailer(records int) trailer {
	return trailer{Records: records, SHA256: hex.EncodeToString(r.sum.Sum(nil))}
}

// truncated converts the end of the file to ErrDamaged.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the end is missing: %w", ErrDamaged)
	}
	return err
}
