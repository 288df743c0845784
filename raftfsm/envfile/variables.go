package envfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxSize bounds the files of a container together, in bytes.
const MaxSize = 1 << 20

// maxLine is the longest line that ECS's agent reads, in bytes.
const maxLine = 64<<10 - 1

// Variable is an environment variable.
type Variable struct{ Name, Value string }

// Variables reads a file as ECS's agent does: each line is NAME=VALUE, of which nothing is quoted, replaced or trimmed. It leaves out lines that begin
// with # and those without a = or without one of its sides. Of a name that is there twice the last value counts. Errors tell the number of a
// line, and not what is in it.
func Variables(text []byte) (all []Variable, err error) {
	at := map[string]int{}
	number := 0
	for raw := range bytes.SplitSeq(text, []byte("\n")) {
		number++
		line := string(bytes.TrimSuffix(raw, []byte("\r")))
		name, value, _ := strings.Cut(line, "=")
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("line %d has more than %d bytes", number, maxLine)
		case strings.Contains(line, "\x00") || !utf8.ValidString(line):
			return nil, fmt.Errorf("line %d is no text", number)
		case strings.HasPrefix(line, "#") || name == "" || value == "":
			continue
		}
		if i, again := at[name]; again {
			all[i].Value = value
			continue
		}
		at[name] = len(all)
		all = append(all, Variable{name, value})
	}
	return all, nil
}
