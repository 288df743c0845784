package main

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"pinion/api/ecs"
	"pinion/api/ecs/internal/model"
	"pinion/api/wire"
)

// loadModel is the service model of Amazon ECS.
func loadModel(t *testing.T) *model.Model {
	t.Helper()
	m, err := model.Load()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestEveryInputMemberIsReadOrRefusedByName: Amazon's clients may send every member of the model. Each has a field, which
// is either read or refused with a reason, so nothing is ever dropped in silence.
func TestEveryInputMemberIsReadOrRefusedByName(t *testing.T) {
	m := loadModel(t)
	for name, operation := range amazons() {
		input := m.Operations[name].Input
		if input == "" {
			t.Errorf("%s is not an operation of Amazon ECS", name)
			continue
		}
		c := comparison{t: t, model: m, input: true}
		c.compare(name, m.Shapes[input], operation.Input)
	}
}

// amazons are the operations that are not Pinion's own.
func amazons() map[string]ecs.Operation {
	all := maps.Clone(ecs.Operations)
	maps.DeleteFunc(all, func(_ string, o ecs.Operation) bool { return o.Own })
	return all
}

// TestEveryAnswerHasMembersOfTheModel: clients drop what they do not know, and what is left out on purpose has a reason.
func TestEveryAnswerHasMembersOfTheModel(t *testing.T) {
	m := loadModel(t)
	for name, operation := range amazons() {
		c := comparison{t: t, model: m}
		c.compare(name, m.Shapes[m.Operations[name].Output], operation.Output)
	}
}

// TestEveryOperationOfTheModelIsDoneOrRefused: a new operation of Amazon's is known by name.
func TestEveryOperationOfTheModelIsDoneOrRefused(t *testing.T) {
	m := loadModel(t)
	for name := range m.Operations {
		_, done := ecs.Operations[name]
		_, refused := ecs.UnsupportedReasons()[name]
		if done == refused {
			t.Errorf("%s: done %t, refused %t", name, done, refused)
		}
	}
	for name, operation := range ecs.Operations {
		if _, known := m.Operations[name]; operation.Own == known {
			t.Errorf("%s: Pinion's own %t, an operation of Amazon ECS %t", name, operation.Own, known)
		}
	}
	for name := range ecs.UnsupportedReasons() {
		if _, known := m.Operations[name]; !known {
			t.Errorf("%s is refused and is not an operation of Amazon ECS", name)
		}
	}
}

// comparison holds Go types against shapes of the model.
type comparison struct {
	t     *testing.T
	model *model.Model
	input bool
}

func (c *comparison) compare(at string, shape *model.Shape, of reflect.Type) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if c.input && of.Kind() == reflect.Interface {
		return // read as it comes
	}
	if of == reflect.TypeFor[struct{}]() && !c.input {
		return // the items of a list that is always empty
	}
	if want := kindsOf[shape.Kind]; !slices.Contains(want, of.Kind()) {
		c.t.Errorf("%s is a %v, where the model has %s %s", at, of, shape.Kind, shape.Name)
		return
	}
	switch shape.Kind {
	case model.List:
		c.compare(at+"[]", c.model.Item(shape), of.Elem())
	case model.Structure, model.Union:
		if of != reflect.TypeFor[wire.Time]() {
			c.members(at, shape, of)
		}
	}
}

func (c *comparison) members(at string, shape *model.Shape, of reflect.Type) {
	fields := wire.Fields(of)
	for _, member := range shape.Members {
		field, there := fields[member.Name]
		switch {
		case !there && c.input:
			c.t.Errorf("%s.%s is dropped in silence: %v has no such field", at, member.Name, of)
		case !there && !overlayOf(shape, false).leavesOut(member.Name):
			c.t.Errorf("%s.%s is never answered, and nothing says why: %v has no such field", at, member.Name, of)
		case there && field.Type == reflect.TypeFor[wire.Unsupported]():
			if field.Tag.Get("why")+field.Tag.Get("never") == "" {
				c.t.Errorf("%s.%s is refused without a reason", at, member.Name)
			}
		case there:
			c.compare(at+"."+member.Name, c.model.Shapes[member.Shape], field.Type)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if shape.Member(name) == nil && !slices.ContainsFunc(overlayOf(shape, c.input).Own, func(o own) bool { return o.name == name }) {
			c.t.Errorf("%s.%s is not a member of %s", at, name, shape.Name)
		}
	}
}

// kindsOf are the kinds of Go types that hold a shape.
var kindsOf = map[string][]reflect.Kind{
	model.Structure: {reflect.Struct},
	model.Union:     {reflect.Struct},
	model.List:      {reflect.Slice},
	model.Map:       {reflect.Map},
	model.Enum:      {reflect.String},
	model.String:    {reflect.String},
	model.Integer:   {reflect.Int, reflect.Int64},
	model.Long:      {reflect.Int, reflect.Int64},
	model.Double:    {reflect.Float64},
	model.Boolean:   {reflect.Bool},
	model.Timestamp: {reflect.Struct},
}
