package help

import (
	"strings"
	"unicode/utf8"

	"pinion/api/cli/format"
)

// description is a text of paragraphs, wrapped; lines that begin with a blank are commands, and stay lines.
func description(text string) string {
	var lines, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			lines, paragraph = append(lines, format.Wrap(strings.Join(paragraph, " "), width)...), nil
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, " "):
			end()
			lines = append(lines, example(line)...)
		case line == "" || line == "Examples:":
			end()
			lines = append(lines, line)
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return strings.Join(lines, "\n")
}

// example is a command in a description. One that is too long has its comment above it, and is continued on further lines.
func example(line string) []string {
	const indent = "   "
	if utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	var lines []string
	command, comment, found := strings.Cut(line, "   #")
	if found {
		lines = append(lines, indent+"#"+comment)
	}
	for i, part := range format.Wrap(command, width-len(indent)-6) {
		if i > 0 {
			lines[len(lines)-1] += ` \`
			part = "    " + part
		}
		lines = append(lines, indent+part)
	}
	return lines
}
