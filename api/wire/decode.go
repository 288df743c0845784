package wire

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Strictness is what becomes of unknown fields in a request.
type Strictness int

const (
	Lenient Strictness = iota // ignored, as AWS does
	Strict                    // an error that suggests the nearest known field
)

// Unsupported is the type of a field that ECS has and Pinion does not support. Absent and empty values pass; any other value is
// refused by name, so that nothing is dropped in silence: with the reason in the tag `why` for now, with that in the tag `never` for good.
type Unsupported struct{}

// Long is the type of a field that takes a 64-bit integer. All other integers have to fit ECS's 32 bits.
type Long int64

// DecodeJSON decodes a JSON object into a struct, to which into points. Unlike encoding/json it matches names exactly and
// names the path of a value of the wrong type. Null is the same as absent.
func DecodeJSON(body []byte, into any, strict Strictness) error {
	return decodeObject(body, into, strict, parseJSON)
}

// DecodeYAML is DecodeJSON for YAML.
func DecodeYAML(body []byte, into any, strict Strictness) error {
	return decodeObject(body, into, strict, parseYAML)
}

func decodeObject(body []byte, into any, strict Strictness, parse func([]byte) (map[string]any, error)) error {
	return Bounded(len(body), func() error {
		object, err := parse(body)
		if err != nil {
			return err
		}
		d := decoder{strict: strict == Strict}
		return d.structure("", object, reflect.ValueOf(into).Elem())
	})
}

type decoder struct {
	strict bool
	above  []reflect.Type // of the objects that the one to decode is in, the outermost first
}

// value decodes v, found at path, into target.
func (d decoder) value(path string, v any, target reflect.Value) error {
	if v == nil {
		return nil
	}
	switch target.Kind() {
	case reflect.Interface:
		target.Set(reflect.ValueOf(v))
		return nil
	case reflect.Pointer:
		fresh := reflect.New(target.Type().Elem())
		target.Set(fresh)
		return d.value(path, v, fresh.Elem())
	case reflect.Struct:
		object, ok := v.(map[string]any)
		if !ok {
			return wrongType(path, "an object", v)
		}
		return d.structure(path, object, target)
	case reflect.Slice:
		return d.list(path, v, target)
	case reflect.Map:
		return d.strings(path, v, target)
	}
	return scalar(path, v, target)
}

// structure decodes an object's fields in the order of their names, so that equal bodies get equal errors.
func (d decoder) structure(path string, object map[string]any, target reflect.Value) error {
	fields := Fields(target.Type())
	inside := decoder{d.strict, append(slices.Clip(d.above), target.Type())}
	for _, name := range sortedKeys(object) {
		at := join(path, name)
		field, known := fields[name]
		switch {
		case !known && d.strict:
			return d.unknownField(at, name, target.Type())
		case !known:
			continue
		case field.Type == reflect.TypeFor[Unsupported]():
			if !empty(object[name]) {
				return unsupported(at, field.Tag)
			}
			continue
		}
		if err := inside.value(at, object[name], target.FieldByIndex(field.Index)); err != nil {
			return err
		}
	}
	return nil
}

func (d decoder) list(path string, v any, target reflect.Value) error {
	list, ok := v.([]any)
	if !ok {
		return wrongType(path, "a list", v)
	}
	target.Set(reflect.MakeSlice(target.Type(), len(list), len(list)))
	for i, item := range list {
		at := path + "[" + strconv.Itoa(i) + "]"
		if item == nil {
			return Errorf(Serialization, "%s must not be null", at)
		}
		if err := d.value(at, item, target.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// strings decodes an object of free names into a map of strings.
func (d decoder) strings(path string, v any, target reflect.Value) error {
	object, ok := v.(map[string]any)
	if !ok {
		return wrongType(path, "an object", v)
	}
	target.Set(reflect.MakeMapWithSize(target.Type(), len(object)))
	for _, name := range sortedKeys(object) {
		text, ok := object[name].(string)
		if !ok {
			return wrongType(join(path, name), "a string", object[name])
		}
		target.SetMapIndex(reflect.ValueOf(name), reflect.ValueOf(text))
	}
	return nil
}

func scalar(path string, v any, target reflect.Value) error {
	switch target.Kind() {
	case reflect.String:
		text, ok := v.(string)
		if !ok {
			return wrongType(path, "a string", v)
		}
		target.SetString(text)
	case reflect.Bool:
		yes, ok := v.(bool)
		if !ok {
			return wrongType(path, "true or false", v)
		}
		target.SetBool(yes)
	case reflect.Int, reflect.Int64:
		n, err := integer(path, v, target.Type() == reflect.TypeFor[Long]())
		if err != nil {
			return err
		}
		target.SetInt(n)
	case reflect.Float64:
		number, ok := v.(json.Number)
		if !ok {
			return wrongType(path, "a number", v)
		}
		f, err := number.Float64()
		if err != nil {
			return Errorf(Serialization, "%s is out of range: %s", path, number)
		}
		target.SetFloat(f)
	default:
		panic("wire: no decoding into " + target.Type().String())
	}
	return nil
}

// integer accepts what fits ECS's 32-bit integers, or what is long.
func integer(path string, v any, long bool) (int64, error) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, wrongType(path, "an integer", v)
	}
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil {
		return 0, Errorf(Serialization, "%s must be an integer, not %s", path, number)
	}
	if !long && (n > math.MaxInt32 || n < math.MinInt32) {
		return 0, Errorf(Serialization, "%s is out of range: %s does not fit 32 bits", path, number)
	}
	return n, nil
}

func wrongType(path, want string, got any) error {
	hint := ""
	if _, number := got.(json.Number); number && want == "a string" {
		hint = " (put it in quotes)"
	}
	return Errorf(Serialization, "%s must be %s, not %s%s", path, want, jsonTypeName(got), hint)
}

// usual are names that people try, with those of ECS.
var usual = map[string]string{"gpu": "gpuCount", "gpus": "gpuCount", "env": "environment", "ports": "portMappings", "volumes": "mountPoints", "args": "command", "entrypoint": "entryPoint"}

// unknownField refuses a field that an object of a type has not: it may be one of an object around it, or misspelled.
func (d decoder) unknownField(path, name string, object reflect.Type) error {
	fields := Fields(object)
	if _, known := fields[usual[name]]; known {
		return Errorf(Client, "unknown field %s: did you mean %q?", path, usual[name])
	}
	for at, outer := range slices.Backward(d.above) {
		if _, known := Fields(outer)[name]; known {
			return Errorf(Client, "unknown field %s: it belongs beside %s, not in it", path, ancestor(path, at))
		}
	}
	if near := nearest(name, fields); near != "" {
		return Errorf(Client, "unknown field %s: did you mean %q?", path, near)
	}
	return Errorf(Client, "unknown field %s: known here are %s", path, strings.Join(sortedKeys(fields), ", "))
}

// ancestor is the field of the object so many objects deep that a path leads through.
func ancestor(path string, depth int) string {
	name, _, _ := strings.Cut(strings.Split(path, ".")[depth], "[")
	return name
}

func unsupported(path string, tag reflect.StructTag) error {
	if why := tag.Get("never"); why != "" {
		return Errorf(Client, "%s is not supported by Pinion: %s. Remove the field.", path, why)
	}
	why := tag.Get("why")
	if why != "" {
		why = ": " + why
	}
	return Errorf(Client, "%s is not supported by Pinion yet%s. Remove the field.", path, why)
}

// empty reports whether a value is the same as an absent one.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return v == nil || v == "" || v == false
	}
}

func jsonTypeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
