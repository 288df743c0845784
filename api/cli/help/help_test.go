package help

import (
	"strings"
	"testing"
)

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
