package wire

import (
	"bytes"
	"encoding/json"
)

// Appender is an answer that writes itself, because a part of it is JSON already: encoding/json would read that once more.
type Appender interface {
	// AppendJSON appends the answer to text, as encoding/json would write it, and returns the longer text.
	AppendJSON(text []byte) ([]byte, error)
}

// Append appends an answer to text as JSON, with characters that mean something in HTML as they are.
func Append(text []byte, answer any) ([]byte, error) {
	if self, ok := answer.(Appender); ok {
		return self.AppendJSON(text)
	}
	buffer := bytes.NewBuffer(text)
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(answer)
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), err
}
