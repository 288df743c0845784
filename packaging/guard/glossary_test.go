package guard

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const glossaryFile = "../../docs/glossary.md"

// TestRetiredWordsAreNotUsed holds the two lists at the end of the glossary: a retired word is refused as a word of any
// declared identifier or file name, a retired name as the whole name of whatever is declared for more than one function, exported or not.
// Uses of other modules' names are not looked at.
func TestRetiredWordsAreNotUsed(t *testing.T) {
	words, names := glossaryRows(t, "## Retired words"), glossaryRows(t, "## Retired names")
	eachFile(t, func(f file) {
		for _, d := range f.names() {
			for _, word := range identifierWords(d.name) {
				for _, form := range baseForms(word) {
					if instead, retired := words[form]; retired {
						t.Errorf("%s: %s %s uses the retired word %q; docs/glossary.md has the term to use: %s", f.path, d.kind, d.name, form, instead)
						break
					}
				}
			}
			if instead, retired := names[firstLower(d.name)]; retired && slices.Contains([]string{"type", "function", "method", "field", "package variable"}, d.kind) {
				t.Errorf("%s: %s %s is a retired name; docs/glossary.md has the term to use: %s", f.path, d.kind, d.name, instead)
			}
		}
	})
}

// firstLower returns a name with a small first letter: an exported name says no more than the same name that is not exported.
func firstLower(name string) string { return strings.ToLower(name[:1]) + name[1:] }

// glossaryRow is a row of a section's table, whose first cell is names in code type.
var glossaryRow = regexp.MustCompile("^\\| (`[^|]+`) \\| ([^|]+) \\|")

// glossaryRows reads the table under a heading of the glossary: the second column by each name of the first.
func glossaryRows(t *testing.T, heading string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(glossaryFile)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(raw), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", glossaryFile, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for line := range strings.Lines(section) {
		if cells := glossaryRow.FindStringSubmatch(line); cells != nil {
			for _, name := range strings.Split(cells[1], ",") {
				rows[strings.Trim(name, " `")] = cells[2]
			}
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s lists nothing under %q", glossaryFile, heading)
	}
	return rows
}

// termRow is a row of the glossary that says what a word means: its first cell.
var termRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \| [^|]+ \|$`)

// TestEveryTermOfTheGlossaryHasOneRow finds a word with a second row, where its second meaning would be read without the first: what stands
// in parentheses behind a term makes no other word of it.
func TestEveryTermOfTheGlossaryHasOneRow(t *testing.T) {
	page, _, _ := strings.Cut(readPage(t, "glossary.md"), "\n## Retired words\n")
	rows := map[string]string{}
	for _, row := range termRow.FindAllStringSubmatch(page, -1) {
		if slices.Contains([]string{"term", "word", "---"}, row[1]) {
			continue // the heads of the tables
		}
		for term := range strings.SplitSeq(row[1], ", ") {
			term, _, _ = strings.Cut(strings.Trim(term, "`"), " (")
			if other := rows[term]; other != "" {
				t.Errorf("docs/glossary.md has %q in two rows, %q and %q: say in one row which meaning is used where", term, other, row[1])
			}
			rows[term] = row[1]
		}
	}
	if len(rows) < 100 {
		t.Errorf("%d terms were read", len(rows))
	}
}

// baseForms are the word, and what it may be a form of: doors of door, steering of steer.
func baseForms(word string) []string {
	forms := []string{word}
	for _, ending := range []string{"s", "es", "ed", "er", "ing"} {
		if base, is := strings.CutSuffix(word, ending); is {
			forms = append(forms, base)
		}
	}
	return forms
}

// identifierWords splits an identifier or a file name at underscores and case changes: "newHTTPClient" is new, http, client.
func identifierWords(name string) []string {
	var words []string
	runes, begin := []rune(name), 0
	for i := 1; i <= len(runes); i++ {
		if i < len(runes) && !wordBoundary(runes, i) {
			continue
		}
		if word := strings.ToLower(strings.Trim(string(runes[begin:i]), "_-.0123456789")); word != "" {
			words = append(words, word)
		}
		begin = i
	}
	return words
}

// wordBoundary reports whether a new word begins at runes[i].
func wordBoundary(runes []rune, i int) bool {
	before, here := runes[i-1], runes[i]
	switch {
	case before == '_' || before == '-' || before == '.':
		return true
	case unicode.IsUpper(here) && !unicode.IsUpper(before):
		return true
	}
	return unicode.IsUpper(here) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

func TestIdentifiersAreSplitIntoWords(t *testing.T) {
	for name, want := range map[string][]string{
		"newHTTPClient": {"new", "http", "client"}, "host_change_test": {"host", "change", "test"}, "GPUsInUse": {"gp", "us", "in", "use"},
		"RunTask": {"run", "task"}, "x": {"x"}, "level1": {"level"},
	} {
		if got := identifierWords(name); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
