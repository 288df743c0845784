package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// maxLogLine bounds a line of a log stream in bytes: a text of at most 256 KiB, of which JSON may make six times as much.
const maxLogLine = 2 << 20

var errLongLogLine = errors.New("a line of the log is longer than a host sends")

// logReader reads a stream of log lines, one JSON object on each line.
type logReader struct{ in *bufio.Reader }

func newLogReader(in io.Reader) logReader { return logReader{bufio.NewReaderSize(in, 64<<10)} }

// next returns the next line. The error is io.EOF at the end of the stream.
func (r logReader) next() (LogLine, error) {
	raw, err := r.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		raw = bytes.Clone(raw)
		for err == bufio.ErrBufferFull && len(raw) <= maxLogLine {
			var more []byte
			more, err = r.in.ReadSlice('\n')
			raw = append(raw, more...)
		}
	}
	switch {
	case err == bufio.ErrBufferFull:
		return LogLine{}, errLongLogLine
	case err == io.EOF && len(bytes.TrimSpace(raw)) > 0:
		return LogLine{}, io.ErrUnexpectedEOF
	case err != nil:
		return LogLine{}, err
	}
	if len(raw) == 1 {
		return LogLine{Mark: true}, nil
	}
	line, plain := parseLogLine(raw)
	if !plain {
		if err := json.Unmarshal(raw, &line); err != nil {
			return LogLine{}, err
		}
	}
	arrived, _ := r.in.Peek(r.in.Buffered())
	line.More = bytes.IndexByte(arrived, '\n') >= 0
	return line, nil
}

// parseLogLine decodes a line as hosts write it when nothing in it is escaped; plain is false for any other line. A log may have millions
// of lines, and encoding/json takes three microseconds for each.
func parseLogLine(raw []byte) (line LogLine, plain bool) {
	if bytes.IndexByte(raw, '\\') >= 0 {
		return LogLine{}, false
	}
	rest := raw
	member := func(before string) []byte { // a string with what comes before it
		value, found := bytes.CutPrefix(rest, []byte(before))
		end := bytes.IndexByte(value, '"')
		if !found || end < 0 {
			rest = nil
			return nil
		}
		rest = value[end:]
		return value[:end]
	}
	at := member(`{"time":"`)
	line.Container = string(member(`","container":"`))
	line.Stream = string(member(`","stream":"`))
	line.Text = string(member(`","text":"`))
	if string(rest) != "\"}\n" {
		return LogLine{}, false
	}
	var err error
	line.Time, err = time.Parse(time.RFC3339Nano, string(at))
	return line, err == nil
}
