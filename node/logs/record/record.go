// Package record encodes the lines of a container's log file. A record is one line: its time in nanoseconds of Unix time as 19 digits,
// its stream, the length of its text in bytes, and the text, as the container wrote it but without zero bytes:
//
//	1795334349853123456 o 5 hello
//
// The stream is o for stdout and e for stderr, and O or E when the next record continues the same line. The length tells a record
// from one that a crash or a full disk tore off, and zero bytes are what a power cut leaves in the place of blocks. The package uses no reflection, so that the logger stays small.
package record

import (
	"bytes"
	"strconv"
	"time"
)

// MaxText bounds the text of one record, in bytes; a longer line becomes several records.
const MaxText = 256 << 10

// timeDigits is enough for times from 1970 to 2286.
const timeDigits = 19

// Record is one decoded line. Its Text is part of what was decoded. It has no line end.
type Record struct {
	Time    time.Time
	Stream  string // stdout or stderr
	Partial bool   // the next record of the stream continues the line
	Text    []byte
}

// Append appends one encoded record with its line end to b. A zero byte of the text becomes U+FFFD.
func Append(b []byte, r Record) []byte {
	var digits [20]byte
	at := strconv.AppendUint(digits[:0], uint64(max(0, r.Time.UnixNano())), 10)
	for range timeDigits - len(at) {
		b = append(b, '0')
	}
	b = append(b, at...)
	b = append(b, ' ', streamLetter(r.Stream, r.Partial), ' ')
	text := r.Text
	if bytes.IndexByte(text, 0) >= 0 {
		text = bytes.ReplaceAll(text, []byte{0}, []byte("\uFFFD"))
	}
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, ' ')
	b = append(b, text...)
	return append(b, '\n')
}

func streamLetter(stream string, partial bool) byte {
	letter := byte('o')
	if stream == stderr {
		letter = 'e'
	}
	if partial {
		letter -= 'a' - 'A'
	}
	return letter
}

const stdout, stderr = "stdout", "stderr"

// Parse decodes a line of a log file, line end included. Whole is false for what is not a record from its beginning to its line end.
func Parse(line []byte) (r Record, whole bool) {
	at, known := headTime(line)
	if !known || line[len(line)-1] != '\n' {
		return Record{}, false
	}
	rest := line[timeDigits+1:]
	switch rest[0] {
	case 'o', 'O':
		r.Stream = stdout
	case 'e', 'E':
		r.Stream = stderr
	default:
		return Record{}, false
	}
	length, text, found := bytes.Cut(rest[2:len(rest)-1], []byte(" "))
	if n, known := number(length); !found || !known || n != int64(len(text)) || bytes.IndexByte(text, 0) >= 0 {
		return Record{}, false
	}
	r.Time, r.Partial, r.Text = at, rest[0] < 'a', text
	return r, true
}

// IsWhole reports whether a line of a log file is a record from its beginning to its line end, of this version or an older one.
func IsWhole(line []byte) bool {
	_, whole := Parse(line)
	return whole || IsJSON(line)
}

// Time decodes only the time of a record; known is false for a line that does not begin as one.
func Time(line []byte) (at time.Time, known bool) {
	if at, known := headTime(line); known {
		return at, true
	}
	return timeOfJSON(line)
}

// headTime decodes the time of a record of this version.
func headTime(line []byte) (at time.Time, known bool) {
	if len(line) < timeDigits+len(" o 0 \n") || line[timeDigits] != ' ' || line[timeDigits+2] != ' ' {
		return time.Time{}, false
	}
	nanoseconds, known := number(line[:timeDigits])
	if !known {
		return time.Time{}, false
	}
	return time.Unix(nanoseconds/1e9, nanoseconds%1e9).UTC(), true
}

// basePrefix begins the first line of a file that continues a log: how many bytes the files before it had, which may be gone. It is no
// record, so readers of records pass it over.
const basePrefix = "base "

// AppendBase appends the first line of a file that continues a log of so many bytes.
func AppendBase(b []byte, bytes int64) []byte {
	return append(strconv.AppendInt(append(b, basePrefix...), bytes, 10), '\n')
}

// Base is the number of bytes of the log before the file that begins with the line; is reports whether the line says so. Without such a
// line a file is the first of its log.
func Base(line []byte) (before int64, is bool) {
	rest, found := bytes.CutPrefix(line, []byte(basePrefix))
	text, ended := bytes.CutSuffix(rest, []byte("\n"))
	if !found || !ended {
		return 0, false
	}
	return number(text)
}

// number decodes 1 to 19 decimal digits.
func number(digits []byte) (n int64, known bool) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, n >= 0 && len(digits) > 0 && len(digits) <= timeDigits
}
