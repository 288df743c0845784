// Package query is AWS's query protocol: a form as input, in which lists are X.member.1 and structures X.Field, and an element of XML as output.
package query

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"strconv"

	"pinion/api/wire"
)

// Bounds of a request.
const (
	maxParameters = 5_000
	maxMembers    = 1_000  // of a list
	maxParts      = 50_000 // of the names of all parameters, with those that values have
	maxKey        = 500    // bytes of the name of a parameter, each part of which is looked at
)

// Form is the parameters of a request.
type Form struct {
	Values  url.Values
	Parents map[string]bool // of which a part is there: A and A.member of A.member.1
}

// Parse reads the form of a request.
func Parse(body []byte) (Form, error) {
	if count := bytes.Count(body, []byte("&")) + 1; count > maxParameters {
		return Form{}, invalid("A request can have %d parameters, not %d.", maxParameters, count)
	}
	if bytes.Count(body, []byte(".")) > maxParts {
		return Form{}, invalid("The names and values of a request can have %d points: send it in parts.", maxParts)
	}
	var form Form
	err := wire.Bounded(len(body), func() (err error) {
		form, err = parse(body)
		return err
	})
	return form, err
}

func parse(body []byte) (Form, error) {
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return Form{}, invalid("The body is not a form: %v.", err)
	}
	f := Form{values, map[string]bool{}}
	for key, given := range values {
		if len(given) > 1 {
			return Form{}, invalid("The parameter %.300q is there %d times.", key, len(given))
		}
		if len(key) > maxKey {
			return Form{}, invalid("The name of a parameter can have %d characters, not %d: %.40s...", maxKey, len(key), key)
		}
		for i, c := range key {
			if c == '.' {
				f.Parents[key[:i]] = true
			}
		}
	}
	return f, nil
}

// First returns the first value of a parameter without parsing the rest of the form: of a request whose sender is not known yet. A name that is written
// with escapes is not found.
func First(body []byte, name string) string {
	value, is := bytes.CutPrefix(body, []byte(name+"="))
	if !is {
		_, value, is = bytes.Cut(body, []byte("&"+name+"="))
	}
	if !is {
		return ""
	}
	value, _, _ = bytes.Cut(value, []byte("&"))
	text, _ := url.QueryUnescape(string(value)) // what cannot be read names nothing
	return text
}

// Has reports whether the parameter is there, or a structure or list of the name.
func (f Form) Has(name string) bool { return f.Values.Has(name) || f.Parents[name] }

func invalid(format string, args ...any) error {
	return wire.Errorf("ValidationError", format, args...)
}

// JSON is the form of a request as the JSON that the same input would be, for a struct of the type. Parameters that the type has not are left out.
func JSON(body []byte, of reflect.Type) ([]byte, error) {
	f, err := Parse(body)
	if err != nil {
		return nil, err
	}
	object, err := f.structure("", of)
	if err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

func (f Form) structure(prefix string, of reflect.Type) (map[string]any, error) {
	object := map[string]any{}
	for name, field := range wire.Fields(of) {
		if !f.Has(prefix + name) {
			continue
		}
		value, err := f.value(prefix+name, field.Type)
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return object, nil
}

// value is what the form has at a key, as text where it is not what the type takes: whoever decodes the JSON says so.
func (f Form) value(key string, of reflect.Type) (any, error) {
	text := f.Values.Get(key)
	switch of.Kind() {
	case reflect.Pointer:
		return f.value(key, of.Elem())
	case reflect.Struct:
		if of == reflect.TypeFor[wire.Unsupported]() {
			return true, nil
		}
		return f.structure(key+".", of)
	case reflect.Slice:
		return f.list(key+".member.", of.Elem())
	case reflect.Bool:
		if yes, err := strconv.ParseBool(text); err == nil {
			return yes, nil
		}
	case reflect.Int, reflect.Int64, reflect.Float64:
		if number := json.Number(text); json.Valid([]byte(text)) {
			if _, err := number.Float64(); err == nil {
				return number, nil
			}
		}
	}
	return text, nil
}

func (f Form) list(prefix string, of reflect.Type) ([]any, error) {
	all := []any{}
	for i := 1; f.Has(prefix + strconv.Itoa(i)); i++ {
		if i > maxMembers {
			return nil, invalid("%s can have %d members.", prefix, maxMembers)
		}
		value, err := f.value(prefix+strconv.Itoa(i), of)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}
