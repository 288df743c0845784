package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pinion/api/cli/arguments"
)

// documentedLine finds a command of ours in a line of a code block, up to what a shell would take.
var documentedLine = regexp.MustCompile(`(?:^|[|&(] ?|# |\$ |sudo )(?:sudo )?pinion ((?:[^|&;#>)"'\\]|"[^"]*"|'[^']*')+)`)

// What the README and the documents tell people to type has to be understood: each command exists, and has each of its options.
func TestWhatIsDocumentedIsUnderstood(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```") {
			if i%2 == 0 {
				continue // prose
			}
			for line := range strings.Lines(block) {
				for _, match := range documentedLine.FindAllStringSubmatch(line, -1) {
					found++
					checkUnderstood(t, file, strings.Fields(match[1]))
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d commands were found", found)
	}
}

func checkUnderstood(t *testing.T, file string, words []string) {
	t.Helper()
	app := New(fullProgram)
	line, err := arguments.Order(app, append([]string{"pinion"}, words...))
	if err != nil {
		t.Errorf("%s: pinion %s: %v", file, strings.Join(words, " "), err)
		return
	}
	for at, word := range line[1:] {
		if command := app.Command(word); command != nil {
			if next := at + 2; len(command.Subcommands) > 0 && command.Action == nil && (next >= len(line) || command.Command(line[next]) == nil) {
				t.Errorf("%s: pinion %s: there is no such verb", file, strings.Join(words, " "))
			}
			return
		}
	}
	t.Errorf("%s: pinion %s: there is no such command", file, strings.Join(words, " "))
}
