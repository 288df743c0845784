package ecs

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pinion/api/ecs/internal/model"
	"pinion/api/wire"
)

// The page on compatibility says what the operations and their inputs say; `go test ./api/ecs -run Compatibility -rewrite` writes it anew.
func TestThePageOnCompatibilityIsWhatTheTypesSay(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "compatibility.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin = "<!-- go test ./api/ecs -run Compatibility -rewrite -->\n"
	before, _, begins := bytes.Cut(text, []byte(begin))
	if !begins {
		t.Fatalf("%s has no place for the tables", path)
	}
	want := slices.Concat(before, []byte(begin+tableOfOperations(t)+tableOfRefusedMembers()+tableOfOtherFields(t)))
	if *rewrite {
		err = os.WriteFile(path, want, 0o644)
	}
	if err != nil || !*rewrite && !bytes.Equal(text, want) {
		t.Errorf("%s is not what the types say (go test ./api/ecs -run Compatibility -rewrite writes it anew): %v", path, err)
	}
}

// tableOfOperations has every operation of Amazon's model.
func tableOfOperations(t *testing.T) string {
	m, err := model.Load()
	if err != nil {
		t.Fatal(err)
	}
	rows, work := "", 0
	for _, name := range slices.Sorted(maps.Keys(m.Operations)) {
		here := "works"
		if _, done := Operations[name]; done {
			work++
		} else {
			here = "refused: " + UnsupportedReasons()[name]
		}
		rows += fmt.Sprintf("| `%s` | %s |\n", name, here)
	}
	return fmt.Sprintf("\n## Operations\n%d of the %d operations work.\n\n| operation | here |\n| --- | --- |\n%s", work, len(m.Operations), rows)
}

// tableOfRefusedMembers has the members of inputs that are refused by name, but for those of task definitions.
func tableOfRefusedMembers() string {
	operations, reasons := map[string][]string{}, map[string]string{} // by member
	for _, name := range slices.Sorted(maps.Keys(Operations)) {
		if o := Operations[name]; !o.Own && name != "RegisterTaskDefinition" {
			for member, why := range refusedMembers(o.Input, "") {
				operations[member] = append(operations[member], name)
				reasons[member] = why
			}
		}
	}
	var rows strings.Builder
	for _, member := range slices.Sorted(maps.Keys(operations)) {
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", member, strings.Join(operations[member], ", "), reasons[member])
	}
	return "\n## Members of other requests that are refused\nAll others are read.\n\n| member | of | why |\n| --- | --- | --- |\n" + rows.String()
}

// refusedMembers are the members of an input, and of what is in it, that are refused, with why.
func refusedMembers(of reflect.Type, at string) map[string]string {
	all := map[string]string{}
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of == reflect.TypeFor[wire.Time]() {
		return all
	}
	for name, field := range wire.Fields(of) {
		member := strings.TrimPrefix(at+"."+name, ".")
		if field.Type == reflect.TypeFor[wire.Unsupported]() {
			all[member] = field.Tag.Get("why") + field.Tag.Get("never")
			continue
		}
		if field.Type.Kind() == reflect.Slice {
			member += "[]"
		}
		maps.Copy(all, refusedMembers(field.Type, member))
	}
	return all
}

// tableOfOtherFields are the rows of the table of a task definition's fields that say more than that a field works.
func tableOfOtherFields(t *testing.T) string {
	var rows strings.Builder
	works := 0
	for line := range strings.Lines(fieldTable(t)) {
		if strings.HasSuffix(line, "| works |\n") {
			works++
		} else {
			rows.WriteString(line)
		}
	}
	return fmt.Sprintf("\n## Fields of a task definition\n%d fields work; these are the others, and those of whose values some are refused. [All fields](task-definition.md).\n\n%s", works, rows.String())
}
