package wire

import (
	"bytes"
	"encoding/json"
)

// Appender is a response that encodes itself, because a part of it is JSON already: encoding/json would parse that again.
type Appender interface {
	// AppendJSON appends the response to text, as encoding/json would write it, and returns the longer text.
	AppendJSON(text []byte) ([]byte, error)
}

// Append appends a response to text as JSON. Characters that mean something in HTML are not escaped.
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
