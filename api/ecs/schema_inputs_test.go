package ecs

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pinion/api/ecs/internal/model"
	"pinion/api/wire"
)

// inputMember is a member of the input of an operation that Pinion reads, at any depth.
type inputMember struct {
	path     []string // names, and "[]" for the items of a list
	kind     string
	required bool
	values   []string // of an enum
}

// String is the path as messages have it: "deploymentController.type", "settings[0].name".
func (m inputMember) String() string {
	return strings.ReplaceAll(strings.Join(m.path, "."), ".[]", "[0]")
}

// inputMembers are the members of an input, beside those that are refused whole.
func inputMembers(m *model.Model, shape *model.Shape, of reflect.Type, path ...string) (all []inputMember) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of.Kind() == reflect.Interface:
		return nil // read as it comes
	case shape.Kind == model.List:
		return inputMembers(m, m.Item(shape), of.Elem(), extended(path, "[]")...)
	case shape.Kind == model.Enum:
		return []inputMember{{path: path, kind: shape.Kind, values: shape.Values}}
	}
	if shape.Kind != model.Structure || of.Kind() != reflect.Struct {
		return nil // a text, a number, a time
	}
	fields := wire.Fields(of)
	for _, member := range shape.Members {
		field := fields[member.Name]
		if field.Type == nil || field.Type == reflect.TypeFor[wire.Unsupported]() {
			continue
		}
		inner, at := m.Shapes[member.Shape], extended(path, member.Name)
		if member.Required {
			all = append(all, inputMember{path: at, kind: inner.Kind, required: true})
		}
		all = append(all, inputMembers(m, inner, field.Type, at...)...)
	}
	return all
}

func extended(path []string, name string) []string { return append(append([]string{}, path...), name) }

// amazonsMembers calls visit with each member of the inputs of Amazon's operations.
func amazonsMembers(t *testing.T, visit func(operation string, m inputMember)) {
	t.Helper()
	schema, err := model.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, operation := range Operations {
		if operation.Own {
			continue
		}
		for _, member := range inputMembers(schema, schema.Shapes[schema.Operations[name].Input], operation.Input) {
			visit(name, member)
		}
	}
}

// withMember is the input with a value at the path; what the path leads through is there afterwards, a list with one item.
func withMember(input any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "[]" {
		items, _ := input.([]any)
		if len(items) == 0 {
			items = []any{nil}
		}
		items[0] = withMember(items[0], path[1:], value)
		return items
	}
	object, is := input.(map[string]any)
	if !is {
		object = map[string]any{}
	}
	object[path[0]] = withMember(object[path[0]], path[1:], value)
	return object
}

// withoutMember is the input with what the path leads to, but for its last member.
func withoutMember(input any, path []string) any {
	last := len(path) - 1
	parent := withMember(input, path[:last], memberAt(input, path[:last]))
	object, is := memberAt(parent, path[:last]).(map[string]any)
	if !is {
		return withMember(parent, path[:last], map[string]any{})
	}
	delete(object, path[last])
	return parent
}

// memberAt is what the path leads to, nil when nothing is there.
func memberAt(input any, path []string) any {
	for _, name := range path {
		switch here := input.(type) {
		case map[string]any:
			input = here[name]
		case []any:
			if len(here) == 0 {
				return nil
			}
			input = here[0]
		default:
			return nil
		}
	}
	return input
}

func decoded(t *testing.T, text string) (object any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return object
}

func encoded(t *testing.T, object any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
