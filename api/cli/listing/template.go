package listing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// Template is the value of --format.
type Template struct {
	text    *template.Template // nil: the JSON, one object a line
	columns bool
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
	return &Template{text: parsed, columns: columns}, nil
}

func functions(utc bool) template.FuncMap {
	return template.FuncMap{
		"json": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"join": func(values []any, separator string) string {
			texts := make([]string, len(values))
			for i, value := range values {
				texts[i] = fmt.Sprint(value)
			}
			return strings.Join(texts, separator)
		},
		"lower": strings.ToLower,
		"upper": strings.ToUpper,
		"id":    client.ResourceID,
		"time": func(value any) (string, error) {
			var at client.Timestamp
			text, err := json.Marshal(value)
			if err != nil || string(text) == "null" {
				return "-", err
			}
			err = at.UnmarshalJSON(text)
			return invocation.ShowTime(at.Time, utc), err
		},
	}
}

// Print prints each of some JSON objects by the template. A member that an object has not is the empty text, for many are left out where
// they say nothing; one that no object has is noted.
func (t *Template) Print(inv *invocation.Invocation, documents []json.RawMessage) error {
	if t.text == nil {
		for _, document := range documents {
			if err := writeLine(inv.Out, document); err != nil {
				return err
			}
		}
		return nil
	}
	shown := &table.Table{Header: strings.Split(t.header(), "\t")}
	unknown := t.members()
	for _, document := range documents {
		text, object, err := t.execute(document)
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

// execute is an object by the template.
func (t *Template) execute(document json.RawMessage) (text string, object map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber() // a number is shown as it was sent
	if err := decoder.Decode(&object); err != nil {
		return "", nil, err
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

// header is the template with the name of a member in the place of each action: "{{id .taskArn}}\t{{.lastStatus}}" is "TASK ARN\tLAST STATUS".
func (t *Template) header() string {
	var header strings.Builder
	for _, node := range t.text.Root.Nodes {
		switch node := node.(type) {
		case *parse.TextNode:
			header.Write(node.Text)
		case *parse.ActionNode:
			if names := fieldsOf(node.Pipe); len(names) > 0 {
				path := names[len(names)-1]
				header.WriteString(words(path[len(path)-1]))
			}
		}
	}
	return header.String()
}

// members are the members of the objects that the template names outside of blocks, in which the dot may be another object.
func (t *Template) members() (names []string) {
	if t.text.Root == nil {
		return nil
	}
	for _, node := range t.text.Root.Nodes {
		if action, is := node.(*parse.ActionNode); is {
			for _, path := range fieldsOf(action.Pipe) {
				names = append(names, path[0])
			}
		}
	}
	return names
}

// fieldsOf are the paths that the arguments of a pipeline name.
func fieldsOf(pipe *parse.PipeNode) (paths [][]string) {
	for _, command := range pipe.Cmds {
		for _, argument := range command.Args {
			switch argument := argument.(type) {
			case *parse.FieldNode:
				paths = append(paths, argument.Ident)
			case *parse.PipeNode:
				paths = append(paths, fieldsOf(argument)...)
			}
		}
	}
	return paths
}

// words is the name of a member as a header: "lastStatus" is "LAST STATUS".
func words(name string) string {
	var header strings.Builder
	before := 'A'
	for _, letter := range name {
		if unicode.IsUpper(letter) && unicode.IsLower(before) {
			header.WriteByte(' ')
		}
		header.WriteRune(unicode.ToUpper(letter))
		before = letter
	}
	return header.String()
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
