package snapshot

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pinion/raftfsm/codec"
	"pinion/raftfsm/compact"
)

// maxField bounds the bytes of one field. It is above the size of any object; a damaged length may be larger.
const maxField = 64 << 20

// recordWriter writes the records of a snapshot. A record is two fields, the name of a table and the object, both in one compact stream and
// each with its length in front (uvarint). The trailer is an empty name and a trailer in JSON.
type recordWriter struct {
	out    io.Writer
	stream compact.Writer
	buffer []byte
}

func (w *recordWriter) write(table string, object any) error {
	if err := w.field(w.stream.Append(w.buffer[:0], &table)); err != nil {
		return err
	}
	return w.field(w.stream.Append(w.buffer[:0], object))
}

func (w *recordWriter) end(e trailer) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return errors.Join(w.field(nil), w.field(text))
}

// field writes data, which may be in the buffer, and keeps its memory as the buffer of the next field.
func (w *recordWriter) field(data []byte) error {
	if len(data) > maxField {
		return fmt.Errorf("a record of %d bytes could not be read again: at most %d", len(data), maxField)
	}
	w.buffer = data[:0]
	return writeField(w.out, data)
}

// writeField writes the length of the data and the data.
func writeField(w io.Writer, data []byte) error {
	var length [binary.MaxVarintLen64]byte
	if _, err := w.Write(length[:binary.PutUvarint(length[:], uint64(len(data)))]); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// recordReader reads the records of a recordWriter.
type recordReader struct {
	*summedReader
	stream compact.Reader
	buffer []byte
}

// next returns the object of the next record and its table. At the trailer, which it verifies, the table is nil.
func (r *recordReader) next(read int, find func(name string) Table) (Table, any, error) {
	named, err := r.field()
	if err != nil {
		return nil, nil, err
	}
	if len(named) == 0 {
		return nil, nil, r.readTrailer(r.trailer(read))
	}
	writeField(r.sum, named) // writing to a hash never fails
	var name string
	if err := r.stream.Read(named, &name); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", err, ErrDamaged)
	}
	table := find(name)
	if table == nil {
		return nil, nil, fmt.Errorf("table %q is not known: %w", name, codec.ErrNewer)
	}
	data, err := r.field()
	if err != nil {
		return nil, nil, err
	}
	writeField(r.sum, data)
	object := table.NewObject()
	switch err := r.stream.Read(data, object); {
	case errors.Is(err, compact.ErrUnknown):
		return nil, nil, fmt.Errorf("table %s: %w: %w", name, err, codec.ErrNewer)
	case err != nil:
		return nil, nil, fmt.Errorf("table %s: %w: %w", name, err, ErrDamaged)
	}
	return table, object, nil
}

// readTrailer verifies the trailer.
func (r *recordReader) readTrailer(end trailer) error {
	expected, err := json.Marshal(end)
	if err != nil {
		return err
	}
	found, err := r.field()
	if err != nil {
		return err
	}
	return r.finish(found, expected)
}

// field returns data that is valid until the next call.
func (r *recordReader) field() ([]byte, error) {
	length, err := r.length()
	if err != nil {
		return nil, err
	}
	if length > maxField {
		return nil, fmt.Errorf("a record of %d bytes: %w", length, ErrDamaged)
	}
	if uint64(cap(r.buffer)) < length {
		r.buffer = make([]byte, length)
	}
	data := r.buffer[:length]
	if _, err := io.ReadFull(r.in, data); err != nil {
		return nil, truncated(err)
	}
	return data, nil
}

func (r *recordReader) length() (uint64, error) {
	head, err := r.in.Peek(binary.MaxVarintLen64) // fewer at the end
	length, size := binary.Uvarint(head)
	switch {
	case size > 0:
		_, err = r.in.Discard(size)
		return length, err
	case size == 0 && err != nil:
		return 0, truncated(err)
	}
	return 0, fmt.Errorf("a record of more bytes than a number can tell: %w", ErrDamaged)
}
