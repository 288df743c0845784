package re2

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// MaxClasses bounds the classes of one expression that is not parsed often.
	MaxClasses = 150_000
	// tableCost is that of a class such as \pL, whose hundreds of ranges the parser copies and sorts.
	tableCost = 2_500
	// lastFolded is past the last character that has another case. Ranges beyond it cost nothing.
	lastFolded = 0x1e944
)

// classCost returns the cost of the classes of an expression for the parser, in characters: it looks at each one of a range when the case does not matter, whatever
// the length of the text.
func classCost(text string) (cost int) {
	folds := strings.Contains(text, "(?") // may: the flag i is in such a group
	var low, before rune                  // the two characters before
	var ranged bool                       // before is a hyphen that is not escaped
	for text != "" {
		c, size := next(text)
		switch escaped := text[0] == '\\'; {
		case escaped && size > 1 && (text[1] == 'p' || text[1] == 'P'):
			cost += tableCost
		case ranged && folds:
			cost += max(0, int(min(c, lastFolded)-min(low, lastFolded)))
		}
		low, before, ranged, text = before, c, text[0] == '-', text[size:]
	}
	return cost
}

// next is the first character of an expression, as in a class, and how many bytes stand for it. An escape without a number is in ASCII.
func next(text string) (c rune, size int) {
	switch {
	case strings.HasPrefix(text, `\x{`):
		digits, _, closed := strings.Cut(text[3:], "}")
		n, err := strconv.ParseUint(digits, 16, 32)
		if !closed || err != nil || n > utf8.MaxRune {
			return 0, 2 // the parser refuses it
		}
		return rune(n), len(`\x{}`) + len(digits)
	case text[0] == '\\' && len(text) > 1:
		_, size = utf8.DecodeRuneInString(text[1:])
		return 0, 1 + size
	}
	return utf8.DecodeRuneInString(text)
}
