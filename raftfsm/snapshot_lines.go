package raftfsm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// The first format: each record is a line of JSON, {"table":"hosts","object":{...}}, and so is the end, {"end":{...}}. Servers of
// the first versions read nothing else.

type lineWriter struct{ lines *json.Encoder }

func (w lineWriter) record(table anyTable, object any) error {
	return w.lines.Encode(struct {
		Table  string `json:"table"`
		Object any    `json:"object"`
	}{table.tableInfo().name, object})
}

func (w lineWriter) end(e snapshotTrailer) error { return w.lines.Encode(line{End: &e}) }

type line struct {
	Table  string           `json:"table,omitempty"`
	Object json.RawMessage  `json:"object,omitempty"`
	End    *snapshotTrailer `json:"end,omitempty"`
}

type lineReader struct{ *snapshotReader }

func (r *lineReader) next(read int) (anyTable, any, error) {
	text, err := r.line()
	if err != nil {
		return nil, nil, err
	}
	var found line
	if err := decodeStrictly(text, &found); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", err, ErrDamaged)
	}
	if found.End != nil {
		end := r.trailer(read)
		expected, err := json.Marshal(line{End: &end})
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, r.finish(text, append(expected, '\n'))
	}
	r.sum.Write(text)
	return found.object()
}

func (l line) object() (anyTable, any, error) {
	table := tableNamed(l.Table)
	if table == nil {
		return nil, nil, fmt.Errorf("table %q is not known: %w", l.Table, ErrNewer)
	}
	object := table.newObject()
	err := decodeStrictly(l.Object, object)
	if err != nil && !json.Valid(l.Object) {
		return nil, nil, fmt.Errorf("table %s: %w: %w", l.Table, err, ErrDamaged)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("table %s: %w: %w", l.Table, err, ErrNewer)
	}
	return table, object, nil
}

// line is good until the next one is read.
func (r *lineReader) line() ([]byte, error) {
	text, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		text = bytes.Clone(text)
		rest, err = r.in.ReadBytes('\n')
		text = append(text, rest...)
	}
	return text, truncated(err)
}
