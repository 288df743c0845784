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

// documentedInProse finds a command of ours in a text or a table.
var documentedInProse = regexp.MustCompile("`(?:sudo )?pinion ([a-z](?:[^`;&>\"']|\"[^`\"]*\"|'[^`']*')*)`")

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
				for _, match := range documentedInProse.FindAllStringSubmatch(block, -1) {
					found++
					words := strings.Fields(strings.ReplaceAll(match[1], `\|`, "|"))
					if last := words[len(words)-1]; strings.HasPrefix(last, "--") && !strings.Contains(last, "=") {
						words[len(words)-1] += "=1" // an option that is named, not given
					}
					checkUnderstood(t, file, words)
				}
				continue
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
