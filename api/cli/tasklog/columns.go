package tasklog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pinion/api/cli/format"
)

const (
	// maxColumns is how many columns lines are shown with.
	maxColumns = 32
	// maxColumnWidth is how far a column is widened for those below; a longer value moves its own line alone.
	maxColumnWidth = 40
)

// Columns shows lines that are JSON objects by some of their members. It is used by one goroutine.
type Columns struct {
	names  []string
	widths []int
}

// ParseColumns reads names of members with commas between; a member of a member has a dot: "http.status".
func ParseColumns(text string) (*Columns, error) {
	names := strings.Split(text, ",")
	if len(names) > maxColumns || slices.Contains(names, "") {
		return nil, fmt.Errorf("%q is not 1 to %d names with commas between", text, maxColumns)
	}
	return &Columns{names, make([]int, len(names))}, nil
}

// Append appends a line: its members in columns, the missing ones empty, or what is no JSON object as it is.
func (c *Columns) Append(b []byte, line string) []byte {
	var object map[string]json.RawMessage
	if !strings.HasPrefix(strings.TrimLeft(line, " \t"), "{") || json.Unmarshal([]byte(line), &object) != nil {
		return append(b, line...)
	}
	begin := len(b)
	for i, name := range c.names {
		value := member(object, name)
		width := len([]rune(value))
		c.widths[i] = max(c.widths[i], min(width, maxColumnWidth))
		b = append(b, value...)
		if i < len(c.names)-1 {
			b = append(b, strings.Repeat(" ", max(0, c.widths[i]-width)+2)...)
		}
	}
	return b[:begin+len(bytes.TrimRight(b[begin:], " "))]
}

// member is a member of an object as people read it: text without quotes, without what could steer a terminal.
func member(object map[string]json.RawMessage, name string) string {
	raw, known := object[name]
	if !known {
		outer, inner, nested := strings.Cut(name, ".")
		var within map[string]json.RawMessage
		if !nested || json.Unmarshal(object[outer], &within) != nil {
			return ""
		}
		return member(within, inner)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.NewReplacer("\n", " ", "\t", " ").Replace(format.Plain(text))
	}
	if string(raw) == "null" {
		return ""
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return ""
	}
	return format.Plain(compact.String())
}
