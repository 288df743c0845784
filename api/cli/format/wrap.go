package format

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks plain text into lines between its words; 0 columns are no limit. A word that is wider than a line has a line of its own.
func Wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(Plain(text)) {
		if columns > 0 && line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimLeft(line+" "+word, " ")
	}
	return append(lines, line)
}
