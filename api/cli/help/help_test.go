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

// Examples are there to be pasted.
func TestWhatIsInQuotesStaysTogether(t *testing.T) {
	long := `   pinion ps --format 'table {{id .taskArn}}\t{{.lastStatus}}\t{{time .startedAt}}' --filter status=RUNNING`
	lines := example(long)
	joined := strings.ReplaceAll(strings.Join(lines, "\n"), "\\\n", "")
	if len(lines) < 2 || strings.Join(shellWords(joined), "|") != strings.Join(shellWords(long), "|") {
		t.Errorf("a shell reads %q", joined)
	}
	checkLines(t, strings.Join(lines, "\n"))
}

func TestAListStaysAList(t *testing.T) {
	got := description("The first of these:\n   1. one\n   2. two words " + strings.Repeat("and more ", 12) + "\n      which go on\nThe end.\n\nExamples:\n   pinion ps")
	for _, want := range []string{"The first of these:\n   1. one\n   2. two words and", "\n      ", "which go on\nThe end.\n\nExamples:\n   pinion ps"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, `\`) {
		t.Error(got)
	}
	checkLines(t, got)
}

func checkLines(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if len(strings.TrimSuffix(line, "\n")) > width {
			t.Errorf("%q is too wide", line)
		}
	}
}
