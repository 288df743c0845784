// Package openapi makes JSON schemas of Go types, for the description that the API serves of itself.
package openapi

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"pinion/api/wire"
)

// Object is a JSON object of the description.
type Object = map[string]any

// Schemas collects the schemas of structs, so that each is described once. The zero value is ready.
type Schemas struct {
	names map[schemaKey]string
	all   Object
}

// schemaKey is a struct as the input or the output of an operation; the required members differ.
type schemaKey struct {
	of     reflect.Type
	output bool
}

// All are the schemas by name, as they stand under components/schemas.
func (s *Schemas) All() Object { return s.all }

// Input is the schema of a request. No member is required, because the operations themselves name what is missing.
func (s *Schemas) Input(t reflect.Type) Object { return s.schema(t, false) }

// Output is the schema of a response. A member that is never left out is required.
func (s *Schemas) Output(t reflect.Type) Object { return s.schema(t, true) }

// wellKnown are the schemas of types that encode themselves.
var wellKnown = map[reflect.Type]Object{
	reflect.TypeFor[wire.Time]():   {"type": "number", "description": "seconds since 1970"},
	reflect.TypeFor[wire.Double](): {"type": "number"},
	reflect.TypeFor[time.Time]():   {"type": "string", "format": "date-time"},
	reflect.TypeFor[[]byte]():      {"type": "string", "contentEncoding": "base64"},
}

func (s *Schemas) schema(t reflect.Type, output bool) Object {
	if known, ok := wellKnown[t]; ok {
		return known
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.schema(t.Elem(), output)
	case reflect.Struct:
		return s.structRef(t, output)
	case reflect.Slice, reflect.Array:
		return Object{"type": "array", "items": s.schema(t.Elem(), output)}
	case reflect.Map:
		return Object{"type": "object", "additionalProperties": s.schema(t.Elem(), output)}
	case reflect.String:
		return Object{"type": "string"}
	case reflect.Bool:
		return Object{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Object{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return Object{"type": "number"}
	}
	return Object{} // anything
}

// structRef adds the schema of a struct under its name, and refers to it.
func (s *Schemas) structRef(t reflect.Type, output bool) Object {
	if t.Name() == "" {
		return s.objectSchema(t, output)
	}
	used := schemaKey{t, output}
	name, known := s.names[used]
	if !known {
		name = s.uniqueName(used)
		if s.names == nil {
			s.names, s.all = map[schemaKey]string{}, Object{}
		}
		s.names[used], s.all[name] = name, nil // reserved: a struct may contain itself
		s.all[name] = s.objectSchema(t, output)
	}
	return Object{"$ref": "#/components/schemas/" + name}
}

// uniqueName is the type's name with a capital, and the suffix Input for a request; a second type of that name gets a number.
func (s *Schemas) uniqueName(u schemaKey) string {
	plain := strings.ToUpper(u.of.Name()[:1]) + u.of.Name()[1:]
	if !u.output && !strings.HasSuffix(plain, "Input") {
		plain += "Input"
	}
	name := plain
	for n := 2; ; n++ {
		if _, taken := s.all[name]; !taken {
			return name
		}
		name = fmt.Sprint(plain, n)
	}
}

func (s *Schemas) objectSchema(t reflect.Type, output bool) Object {
	properties, required := Object{}, []string{}
	fields := wire.Fields(t)
	for _, name := range slices.Sorted(maps.Keys(fields)) { // in order, so that types of one name are numbered alike on every host
		field := fields[name]
		if field.Type == reflect.TypeFor[wire.Unsupported]() {
			continue
		}
		properties[name] = s.schema(field.Type, output)
		if _, options, _ := strings.Cut(field.Tag.Get("json"), ","); output && !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	described := Object{"type": "object", "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		described["required"] = required
	}
	return described
}
