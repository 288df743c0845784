package raftfsm

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pinion/raftfsm/compact"
)

// The second format: a record is the name of its table and the object, both in one compact stream and each with its length in
// front (uvarint). The end is an empty name and a snapshotEnd in JSON.

// maxChunk is more than any object takes, whatever a damaged length says.
const maxChunk = 64 << 20

type chunkWriter struct {
	out    io.Writer
	stream compact.Writer
	buffer []byte
}

func (w *chunkWriter) record(table anyTable, object any) error {
	name := table.tableInfo().name
	if err := w.chunk(w.stream.Append(w.buffer[:0], &name)); err != nil {
		return err
	}
	return w.chunk(w.stream.Append(w.buffer[:0], object))
}

func (w *chunkWriter) end(e snapshotTrailer) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return errors.Join(w.chunk(nil), w.chunk(text))
}

// chunk writes what may lie in the buffer, and keeps it for the next one.
func (w *chunkWriter) chunk(data []byte) error {
	if len(data) > maxChunk {
		return fmt.Errorf("a record of %d bytes could not be read again: at most %d", len(data), maxChunk)
	}
	w.buffer = data[:0]
	return writeChunk(w.out, data)
}

// writeChunk writes the length of the data and the data.
func writeChunk(w io.Writer, data []byte) error {
	var length [binary.MaxVarintLen64]byte
	if _, err := w.Write(length[:binary.PutUvarint(length[:], uint64(len(data)))]); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

type chunkReader struct {
	*snapshotReader
	stream compact.Reader
	buffer []byte
}

func (r *chunkReader) next(read int) (anyTable, any, error) {
	named, err := r.chunk()
	if err != nil {
		return nil, nil, err
	}
	if len(named) == 0 {
		return nil, nil, r.readTrailer(r.trailer(read))
	}
	writeChunk(r.sum, named) // a sum takes everything
	var name string
	if err := r.stream.Read(named, &name); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", err, ErrDamaged)
	}
	table := tableNamed(name)
	if table == nil {
		return nil, nil, fmt.Errorf("table %q is not known: %w", name, ErrNewer)
	}
	data, err := r.chunk()
	if err != nil {
		return nil, nil, err
	}
	writeChunk(r.sum, data)
	object := table.newObject()
	switch err := r.stream.Read(data, object); {
	case errors.Is(err, compact.ErrUnknown):
		return nil, nil, fmt.Errorf("table %s: %w: %w", name, err, ErrNewer)
	case err != nil:
		return nil, nil, fmt.Errorf("table %s: %w: %w", name, err, ErrDamaged)
	}
	return table, object, nil
}

// readTrailer reads the end, which should be this one.
func (r *chunkReader) readTrailer(end snapshotTrailer) error {
	expected, err := json.Marshal(end)
	if err != nil {
		return err
	}
	found, err := r.chunk()
	if err != nil {
		return err
	}
	return r.finish(found, expected)
}

// chunk is good until the next one is read.
func (r *chunkReader) chunk() ([]byte, error) {
	length, err := r.length()
	if err != nil {
		return nil, err
	}
	if length > maxChunk {
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

func (r *chunkReader) length() (uint64, error) {
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
