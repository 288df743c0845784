package help

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLinesBreakBetweenWordsAndLoseNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zé]{1,12}`), 1, 40).Draw(t, "words")
		lines := wrap(strings.Join(words, " "), 20)
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

func TestAnExampleThatIsTooLongStaysACommand(t *testing.T) {
	long := "   pinion run " + strings.Repeat("--env NAME=VALUE ", 8) + "img   # with a comment"
	lines := example(long)
	if lines[0] != "   # with a comment" {
		t.Errorf("%q", lines[0])
	}
	command := strings.ReplaceAll(strings.Join(lines[1:], "\n"), "\\\n", "")
	if want := strings.Fields(strings.Split(long, "#")[0]); strings.Join(strings.Fields(command), " ") != strings.Join(want, " ") {
		t.Errorf("a shell reads %q", command)
	}
}
