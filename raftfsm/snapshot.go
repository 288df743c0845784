package raftfsm

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// A snapshot is text, one JSON value a line: a header, a record for each object, and an end with the number of
// records and the SHA-256 of every byte before it.
const snapshotFormat = 1

type snapshotHeader struct {
	Format  int `json:"pinionSnapshot"`
	Feature int `json:"featureLevel"`
}

type snapshotRecord struct {
	Table  string          `json:"table,omitempty"`
	Object json.RawMessage `json:"object,omitempty"`
	End    *snapshotEnd    `json:"end,omitempty"`
}

type snapshotEnd struct {
	Records int    `json:"records"`
	SHA256  string `json:"sha256"`
}

// ErrDamaged is what Restore answers to a snapshot that is not as it was written.
var ErrDamaged = errors.New("the snapshot is damaged or cut short: restore another one")

// WriteSnapshot writes the whole view. Equal states write equal bytes. It claims the level that every server
// understands, which nothing in it exceeds, so that servers of two versions can send it to each other.
func (v *View) WriteSnapshot(w io.Writer) error {
	sum := sha256.New()
	buffered := bufio.NewWriterSize(w, 1<<20)
	lines := json.NewEncoder(io.MultiWriter(buffered, sum))
	if err := lines.Encode(snapshotHeader{Format: snapshotFormat, Feature: v.MinFeature()}); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	end := snapshotEnd{}
	for _, table := range tables {
		written, err := v.writeTable(lines, table.schema.Name)
		if err != nil {
			return fmt.Errorf("write snapshot: %w", err)
		}
		end.Records += written
	}
	end.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if err := lines.Encode(snapshotRecord{End: &end}); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return buffered.Flush()
}

func (v *View) writeTable(lines *json.Encoder, table string) (int, error) {
	rows, err := v.txn.Get(table, byID)
	must(err)
	written := 0
	for row := rows.Next(); row != nil; row = rows.Next() {
		record := struct {
			Table  string `json:"table"`
			Object any    `json:"object"`
		}{table, row}
		if err := lines.Encode(record); err != nil {
			return written, err
		}
		written++
	}
	return written, nil
}

// Restore replaces everything in the state by the snapshot. Whoever waits for a change of the old state is woken.
// When the snapshot is damaged (ErrDamaged) or newer than this version (ErrNewer) the state stays as it was.
func (s *State) Restore(r io.Reader) error {
	tx := &tx{View: View{s.db.Txn(true)}}
	defer tx.txn.Abort()
	for _, table := range tables {
		_, err := tx.txn.DeleteAll(table.schema.Name, byID)
		must(err)
	}
	if err := tx.read(&snapshotReader{lines: bufio.NewReaderSize(r, 1<<20), sum: sha256.New()}); err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	index := tx.Index()
	tx.txn.Commit()
	s.changes.begin(index)
	return nil
}

func (tx *tx) read(r *snapshotReader) error {
	if err := r.header(); err != nil {
		return err
	}
	for records := 0; ; records++ {
		record, err := r.next()
		if err != nil {
			return err
		}
		if record.End != nil {
			return r.checkEnd(snapshotEnd{Records: records, SHA256: hex.EncodeToString(r.sum.Sum(nil))})
		}
		object, err := record.decode()
		if err != nil {
			return err
		}
		tx.put(record.Table, object)
	}
}

func (r snapshotRecord) decode() (any, error) {
	for _, table := range tables {
		if table.schema.Name != r.Table {
			continue
		}
		object, err := table.decode(r.Object)
		if err != nil && !json.Valid(r.Object) {
			return nil, fmt.Errorf("table %s: %w: %w", r.Table, err, ErrDamaged)
		}
		if err != nil {
			return nil, fmt.Errorf("table %s: %w: %w", r.Table, err, ErrNewer)
		}
		return object, nil
	}
	return nil, fmt.Errorf("table %q is not known: %w", r.Table, ErrNewer)
}

// snapshotReader reads lines and keeps the sum of what came before the last one.
type snapshotReader struct {
	lines *bufio.Reader
	sum   hash.Hash
	last  []byte
}

func (r *snapshotReader) header() error {
	line, err := r.line()
	if err != nil {
		return err
	}
	var header snapshotHeader
	if err := json.Unmarshal(line, &header); err != nil || header.Format == 0 {
		return fmt.Errorf("this is not a snapshot of Pinion: %w", ErrDamaged)
	}
	if header.Format > snapshotFormat || header.Feature > FeatureLevel {
		return fmt.Errorf("format %d, feature level %d; this version reads up to %d and %d: %w",
			header.Format, header.Feature, snapshotFormat, FeatureLevel, ErrNewer)
	}
	return nil
}

func (r *snapshotReader) next() (snapshotRecord, error) {
	line, err := r.line()
	if err != nil {
		return snapshotRecord{}, err
	}
	record, plain := plainRecord(line)
	if plain {
		return record, nil
	}
	if err := decodeStrictly(line, &record); err != nil {
		return snapshotRecord{}, fmt.Errorf("%w: %w", err, ErrDamaged)
	}
	return record, nil
}

// plainRecord takes a line apart as writeTable puts it together, which is nearly every one: reading it as JSON would take as
// long as reading the object in it. What it leaves in the object that does not belong there is refused with the object.
func plainRecord(line []byte) (record snapshotRecord, ok bool) {
	rest, is := bytes.CutPrefix(line, []byte(`{"table":"`))
	table, rest, has := bytes.Cut(rest, []byte(`","object":`))
	object, ends := bytes.CutSuffix(rest, []byte("}\n"))
	return snapshotRecord{Table: string(table), Object: object}, is && has && ends
}

// line is good until the next one is read.
func (r *snapshotReader) line() ([]byte, error) {
	r.sum.Write(r.last)
	line, err := r.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		line = bytes.Clone(line)
		rest, err = r.lines.ReadBytes('\n')
		line = append(line, rest...)
	}
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the end is missing: %w", ErrDamaged)
	}
	if err != nil {
		return nil, err
	}
	r.last = line
	return line, nil
}

// checkEnd compares the last line byte for byte with the one that belongs to what was read.
func (r *snapshotReader) checkEnd(read snapshotEnd) error {
	expected, err := json.Marshal(snapshotRecord{End: &read})
	if err != nil {
		return err
	}
	if !bytes.Equal(r.last, append(expected, '\n')) {
		return fmt.Errorf("read %s, but it ends with %s: %w", expected, bytes.TrimSpace(r.last), ErrDamaged)
	}
	if _, err := r.lines.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more data follows the end: %w", ErrDamaged)
	}
	return nil
}
