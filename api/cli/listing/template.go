package listing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
)

// Template is the value of --format.
type Template struct {
	text    *template.Template // nil: the JSON, one object a line
	columns bool
	header  string   // of the columns
	members []string // of the objects, those that are named outside of blocks
	cells   []string // columns of the table that it names: those whose names begin with a capital
}

// Parse reads the value of --format.
func Parse(text string, utc bool) (*Template, error) {
	if text == "json" {
		return &Template{}, nil
	}
	body, columns := strings.CutPrefix(text, "table ")
	body = strings.NewReplacer(`\t`, "\t", `\n`, "\n").Replace(body) // as a shell leaves them in single quotes
	parsed, err := template.New("format").Funcs(functions(utc)).Parse(body)
	if err != nil {
		return nil, exit.Usagef("--format: %v", err)
	}
	t := &Template{text: parsed, columns: columns}
	if parsed.Tree != nil { // the empty template has none
		t.header, t.members = header(parsed.Root), members(parsed.Root)
		t.cells = makeOptional(parsed.Root)
	}
	return t, nil
}

// Print prints each of some JSON objects by the template. A member that an object has not is the empty text, for many are left out where
// they say nothing; one that no object has is noted. rows is the table that has a row for each object; nil: there is none.
func (t *Template) Print(inv *invocation.Invocation, documents []json.RawMessage, rows *table.Table) error {
	if t.text == nil {
		for _, document := range documents {
			if err := writeLine(inv.Out, document); err != nil {
				return err
			}
		}
		return nil
	}
	columns, err := t.columnsOf(rows)
	if err != nil {
		return err
	}
	shown := &table.Table{Header: strings.Split(t.header, "\t")}
	unknown := slices.Clone(t.members)
	for i, document := range documents {
		cells := map[string]string{}
		for name, column := range columns {
			cells[name] = rows.Cell(i, column)
		}
		text, object, err := t.execute(document, cells)
		if err != nil {
			return err
		}
		unknown = slices.DeleteFunc(unknown, func(name string) bool { _, has := object[name]; return has })
		if t.columns {
			cells := append(strings.Split(text, "\t"), slices.Repeat([]string{""}, len(shown.Header))...)
			shown.Add(cells[:len(shown.Header)]...)
		} else if _, err := fmt.Fprintln(inv.Out, format.Plain(text)); err != nil {
			return err
		}
	}
	if len(unknown) > 0 && len(documents) > 0 {
		inv.Notef("--format: no object has %s; -o json shows what they have", strings.Join(unknown, ", "))
	}
	if !t.columns {
		return nil
	}
	return inv.PrintTable(shown)
}

// columnsOf are the columns of a table that the template names.
func (t *Template) columnsOf(rows *table.Table) (map[string]int, error) {
	if len(t.cells) == 0 {
		return nil, nil
	}
	if rows == nil {
		return nil, exit.Usagef("--format: there is no .%s: there are no columns here, and the members of -o json begin with a small letter", t.cells[0])
	}
	var known []string
	for _, header := range rows.Header {
		known = append(known, columnMember(header))
	}
	columns := map[string]int{}
	for _, name := range t.cells {
		at := slices.Index(known, strings.ToUpper(name))
		if at < 0 {
			return nil, exit.Usagef("--format: there is no column .%s: the columns are .%s; -o json shows the members, which begin with a small letter", name, strings.Join(known, ", ."))
		}
		columns[name] = at
	}
	return columns, nil
}

// columnMember is the header of a column as the name of a member: "EXIT_REASON".
func columnMember(header string) string {
	return strings.ToUpper(strings.ReplaceAll(columnKey(header), "-", "_"))
}

// execute is an object by the template, with some cells of its row as further members.
func (t *Template) execute(document json.RawMessage, cells map[string]string) (text string, object map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // a number is shown as it was sent
	if err := decoder.Decode(&object); err != nil {
		return "", nil, err
	}
	for name, cell := range cells {
		object[name] = cell
	}
	var out strings.Builder
	if err := t.text.Execute(&out, wholeNumbers(object)); err != nil {
		return "", nil, exit.Usagef("--format: %v", err)
	}
	return strings.ReplaceAll(out.String(), "<no value>", ""), object, nil
}

// wholeNumbers makes numbers of the whole ones, so that templates can compare them.
func wholeNumbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
	case map[string]any:
		for name, member := range value {
			value[name] = wholeNumbers(member)
		}
	case []any:
		for i, element := range value {
			value[i] = wholeNumbers(element)
		}
	}
	return value
}

// writeLine writes a document in one line.
func writeLine(w io.Writer, document json.RawMessage) error {
	var line bytes.Buffer
	if err := json.Compact(&line, document); err != nil {
		return err
	}
	line.WriteByte('\n')
	return format.PlainJSON(w, line.Bytes())
}
