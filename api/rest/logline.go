package rest

import (
	"encoding/json"
	"time"

	"pinion/raftfsm/spec"
)

// appendLine appends a line of a log as JSON, as encoding/json writes a lineView, with its line end. A log may have millions of them,
// and most have nothing to escape.
func appendLine(b []byte, line spec.LogLine) ([]byte, error) {
	if year := line.Time.Year(); !isPlain(line.Container) || !isPlain(line.Stream) || year < 0 || year > 9999 {
		text, err := json.Marshal(lineView{Time: line.Time, Container: line.Container, Stream: line.Stream, Text: line.Text})
		return append(append(b, text...), '\n'), err
	}
	b = append(b, `{"time":"`...)
	b = line.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","container":"`...)
	b = append(b, line.Container...)
	b = append(b, `","stream":"`...)
	b = append(b, line.Stream...)
	b = append(b, `","text":`...)
	if isPlain(line.Text) {
		b = append(b, '"')
		b = append(b, line.Text...)
		return append(b, "\"}\n"...), nil
	}
	text, err := json.Marshal(line.Text)
	return append(append(b, text...), "}\n"...), err
}

// isPlain reports whether a JSON string holds the text as it is.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
