package format

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Plain is text for a terminal without what could steer it: control characters and those that turn the direction of writing are blanks. Line
// ends and tabs stay. What users name, and what their programs say, reaches the terminals of others.
func Plain(text string) string {
	if isPrintableASCII(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && controlsTerminal(r) {
			return ' '
		}
		return r
	}, text)
}

// isPrintableASCII is true of nearly all cells of large tables, which need no closer look.
func isPrintableASCII(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// PlainJSON writes JSON with such characters escaped: for programs it is the same document.
func PlainJSON(w io.Writer, document []byte) error {
	text := string(document)
	if strings.ContainsFunc(text, isUnescaped) {
		var escaped strings.Builder
		for _, r := range text {
			if isUnescaped(r) {
				fmt.Fprintf(&escaped, `\u%04x`, r)
			} else {
				escaped.WriteRune(r)
			}
		}
		text = escaped.String()
	}
	_, err := io.WriteString(w, text)
	return err
}

// isUnescaped reports whether JSON may have the character as it is in a text, though it could steer a terminal.
func isUnescaped(r rune) bool { return r >= 0x7f && controlsTerminal(r) }

func controlsTerminal(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
