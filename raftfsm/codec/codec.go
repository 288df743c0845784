// Package codec is the forms in which commands stand in the log.
package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"pinion/raftfsm/compact"
)

// Codec is an encoding: Append appends the value that its argument points to, Read fills it.
type Codec struct {
	Append func(entry []byte, value any) ([]byte, error)
	Read   func(body []byte, into any) error
}

// The codecs.
var (
	// JSON can be read by people in a damaged log.
	JSON = Codec{
		Append: func(entry []byte, value any) ([]byte, error) {
			body, err := json.Marshal(value)
			return append(entry, body...), err
		},
		Read: readJSON,
	}
	// Compact is for what is frequent.
	Compact = Codec{
		Append: func(entry []byte, value any) ([]byte, error) { return new(compact.Writer).Append(entry, value), nil },
		Read:   func(body []byte, into any) error { return new(compact.Reader).Read(body, into) },
	}
)

// readJSON decodes exactly one JSON value and refuses unknown fields.
func readJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more data follows the value")
	}
	return nil
}
