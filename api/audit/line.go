// Package audit keeps a record of who was refused and of what administrators read and changed: JSON lines in files of their own, which
// rotate. Each host records the requests that it decided on.
package audit

import (
	"crypto/sha256"
	"fmt"
	"net"
	"time"
	"unicode/utf8"
)

// Outcome is what became of a request.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Refused Outcome = "refused" // not allowed: credentials, role, cluster, team or a limit; or nobody known asked for it, and it went wrong
	Failed  Outcome = "failed"  // allowed, and went wrong or was wrong
)

// Line is one line of the record. It never has a body, a query or a secret.
type Line struct {
	Time      time.Time `json:"time"`
	Outcome   Outcome   `json:"outcome"`
	Principal string    `json:"principal,omitempty"` // ARN; empty: nobody whom the credentials prove
	KeyName   string    `json:"keyName,omitempty"`   // of the access key, at the time: what it was for
	Address   string    `json:"address"`             // of the client; "socket" for the root-only one
	Via       string    `json:"via,omitempty"`       // id of the host that forwarded the request
	Operation string    `json:"operation,omitempty"` // "RunTask", or the method and path of a route
	RequestID string    `json:"requestId"`
	Status    int       `json:"status"`
	Error     string    `json:"error,omitempty"`   // type of the refusal
	Message   string    `json:"message,omitempty"` // of the refusal
	Command   string    `json:"command,omitempty"` // that was run in a task; a longer one than 4 KiB ends with its length and its SHA-256
	Repeats   int       `json:"repeats,omitempty"` // so many more like it since, up to Until; they have no lines of their own
	Until     time.Time `json:"until,omitzero"`

	Administrator bool `json:"-"` // the caller's role is admin: the line stays apart from those that others cause
}

// What a caller's input may have found its way into has a bound, whoever calls: in bytes of JSON, where one letter can be six of them.
const (
	maxMessage = 512
	maxField   = 256
	maxCommand = 4 << 10
)

// bound cuts what is longer.
func (e *Line) bound() {
	for _, field := range []*string{&e.Principal, &e.KeyName, &e.Address, &e.Via, &e.Operation, &e.Error} {
		*field = cut(*field, maxField)
	}
	e.Message = cut(e.Message, maxMessage)
	if shown := cut(e.Command, maxCommand); len(shown) < len(e.Command) {
		e.Command = fmt.Sprintf("%s... (%d bytes, SHA-256 %x)", shown, len(e.Command), sha256.Sum256([]byte(e.Command)))
	}
}

// cut returns the beginning of a text that takes so many bytes in a JSON string.
func cut(text string, most int) string {
	for i, letter := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case letter == '"', letter == '\\':
			size = 2
		case letter < ' ', letter == '<', letter == '>', letter == '&', letter == '\u2028', letter == '\u2029', letter == utf8.RuneError:
			size = 6
		}
		if most -= size; most < 0 {
			return text[:i]
		}
	}
	return text
}

// source is what makes refusals and failures alike: the same one again and again is counted.
type source struct{ principal, address, operation, err string }

func (e *Line) source() source {
	host, _, err := net.SplitHostPort(e.Address)
	if err != nil {
		host = e.Address
	}
	return source{e.Principal, host, e.Operation, e.Error}
}
