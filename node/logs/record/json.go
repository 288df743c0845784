package record

import (
	"bytes"
	"time"
)

// jsonPrefix begins the records of older loggers, which run on while their host is upgraded: one JSON object a line,
// {"time":RFC 3339 with nanoseconds,"stream":"stdout","log":"text without the line end"}.
const jsonPrefix = `{"time":"`

// IsJSON reports whether a line of a log file is a whole record of an older logger.
func IsJSON(line []byte) bool {
	return bytes.HasPrefix(line, []byte(jsonPrefix)) && bytes.HasSuffix(line, []byte("}\n"))
}

func timeOfJSON(line []byte) (at time.Time, known bool) {
	rest, found := bytes.CutPrefix(line, []byte(jsonPrefix))
	text, _, closed := bytes.Cut(rest, []byte(`"`))
	if !found || !closed {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	return at, err == nil
}
