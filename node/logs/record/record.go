// Package record encodes the lines of a container's log file: one JSON object a line, {"time":RFC 3339 with nanoseconds,
// "stream":"stdout","log":"text without the line end"}, and "partial":true when the next record continues the same line. It
// uses no reflection, so that the logger stays small.
package record

import (
	"bytes"
	"time"
	"unicode/utf8"
)

// MaxText bounds the text of one record, in bytes; a longer line becomes several records.
const MaxText = 256 << 10

// Append appends one encoded record with its line end to b. Invalid UTF-8 becomes U+FFFD.
func Append(b []byte, at time.Time, stream string, text []byte, partial bool) []byte {
	b = append(b, prefix...)
	b = at.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","stream":"`...)
	b = append(b, stream...)
	b = append(b, `","log":"`...)
	b = appendEscaped(b, text)
	b = append(b, '"')
	if partial {
		b = append(b, `,"partial":true`...)
	}
	return append(b, '}', '\n')
}

const prefix = `{"time":"`

// IsWhole reports whether a line of a log file is a record from its beginning to its line end. What a crash or a full disk tore
// off is not.
func IsWhole(line []byte) bool {
	return bytes.HasPrefix(line, []byte(prefix)) && bytes.HasSuffix(line, []byte("}\n"))
}

// Time decodes only the time of a record; known is false for a line that is none.
func Time(line []byte) (at time.Time, known bool) {
	rest, found := bytes.CutPrefix(line, []byte(prefix))
	text, _, closed := bytes.Cut(rest, []byte(`"`))
	if !found || !closed {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	return at, err == nil
}

func appendEscaped(b, text []byte) []byte {
	const hex = "0123456789abcdef"
	for len(text) > 0 {
		c := text[0]
		if plain := plainPrefix(text); plain > 0 {
			b = append(b, text[:plain]...)
			text = text[plain:]
			continue
		}
		if c < utf8.RuneSelf {
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			text = text[1:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		b = utf8.AppendRune(b, r)
		text = text[size:]
	}
	return b
}

// plainPrefix counts the leading bytes that need no escape.
func plainPrefix(text []byte) int {
	for i, c := range text {
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(text)
}
