package ecs

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The table of the documentation says what this one does; `go test ./api/ecs -run Fields -rewrite` writes it anew.
func TestTheDocumentationHasTheTableOfFields(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "task-definition.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- fields: go test ./api/ecs -run Fields -rewrite -->\n", "<!-- end of fields -->\n"
	before, rest, begins := bytes.Cut(text, []byte(begin))
	_, after, ends := bytes.Cut(rest, []byte(end))
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", path)
	}
	want := slices.Concat(before, []byte(begin+fieldTable(t)+end), after)
	if *rewrite {
		err = os.WriteFile(path, want, 0o644)
	}
	if err != nil || !*rewrite && !bytes.Equal(text, want) {
		t.Errorf("%s is not what the table says (go test ./api/ecs -run Fields -rewrite writes it anew): %v", path, err)
	}
}

// fieldTable is the table for people: members in the order of the model.
func fieldTable(t *testing.T) string {
	var text strings.Builder
	text.WriteString("| field | here |\n| --- | --- |\n")
	last := ""
	for _, l := range definitionLeaves(t) {
		key, _ := fateOf(l.path)
		if key == last {
			continue
		}
		last = key
		says := "works"
		switch f := fates[key]; {
		case f.none != "":
			says = "accepted, without effect: " + f.none
		case f.never != "":
			says = "refused: " + f.never
		case f.today != "":
			says = "not yet: " + f.today
		}
		byReason := map[string][]string{}
		for _, value := range l.values {
			if why := refusedValues[l.path][value]; why != "" {
				byReason[why] = append(byReason[why], "`"+value+"`")
			}
		}
		for _, why := range slices.Sorted(maps.Keys(byReason)) {
			says += "; not " + strings.Join(byReason[why], ", ") + ": " + why
		}
		fmt.Fprintf(&text, "| `%s` | %s |\n", key, says)
	}
	return text.String()
}
