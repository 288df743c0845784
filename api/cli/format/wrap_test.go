package format

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLinesBreakBetweenWordsAndLoseNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zé]{1,12}`), 1, 40).Draw(t, "words")
		lines := Wrap(strings.Join(words, " "), 20)
		if got := strings.Join(lines, " "); got != strings.Join(words, " ") {
			t.Fatalf("%q", got)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > 20 {
				t.Fatalf("%q is too wide", line)
			}
		}
	})
}
