package elb

import (
	"fmt"
	"strconv"
	"strings"

	"pinion/api/query"
	"pinion/api/wire"
)

const maxMembers = 1_000 // of a list

// form is the parameters of a request in the query protocol: lists are X.member.1, and structures X.Field.
type form struct {
	query.Form
	prefix string // of the structure that it is, with the last dot
}

func parseForm(body []byte) (form, error) {
	f, err := query.Parse(body)
	return form{Form: f}, err
}

// text is a parameter, empty when it is not there.
func (f form) text(name string) string { return f.Values.Get(f.prefix + name) }

// has reports whether the parameter is there, or a structure or list of the name.
func (f form) has(name string) bool { return f.Has(f.prefix + name) }

// required is a parameter that has to be there.
func (f form) required(name string) (string, error) {
	if text := f.text(name); text != "" {
		return text, nil
	}
	return "", invalid("%s is required.", f.prefix+name)
}

// number is a parameter between two bounds; absent: otherwise.
func (f form) number(name string, least, most, otherwise int) (int, error) {
	text := f.text(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, invalid("%s must be a number from %d to %d, not %q.", f.prefix+name, least, most, text)
	}
	return n, nil
}

// in is a structure of the form.
func (f form) in(name string) form { return form{f.Form, f.prefix + name + "."} }

// list is a list of texts.
func (f form) list(name string) (all []string, err error) {
	for i := 1; ; i++ {
		key := f.prefix + name + ".member." + strconv.Itoa(i)
		if !f.Values.Has(key) {
			return all, nil
		}
		if i > maxMembers {
			return nil, invalid("%s can have %d members.", f.prefix+name, maxMembers)
		}
		all = append(all, f.Values.Get(key))
	}
}

// structures is a list of structures.
func (f form) structures(name string) (all []form, err error) {
	for i := 1; f.has(fmt.Sprintf("%s.member.%d", name, i)); i++ {
		if i > maxMembers {
			return nil, invalid("%s can have %d members.", f.prefix+name, maxMembers)
		}
		all = append(all, f.in(fmt.Sprintf("%s.member.%d", name, i)))
	}
	return all, nil
}

// oneOf is a parameter with few values; absent: the first.
func (f form) oneOf(name string, values ...string) (string, error) {
	text := f.text(name)
	if text == "" {
		return values[0], nil
	}
	for _, value := range values {
		if text == value {
			return text, nil
		}
	}
	return "", invalid("%s must be %s, not %q.", f.prefix+name, strings.Join(values, " or "), text)
}

// unsupported refuses a parameter that Pinion has no use for.
func (f form) unsupported(name, why string) error {
	if !f.has(name) {
		return nil
	}
	return refused("%s is not supported: %s", f.prefix+name, why)
}

// invalid refuses an input.
func invalid(format string, args ...any) error {
	return wire.Errorf("ValidationError", format, args...)
}

// refused refuses what Pinion cannot do.
func refused(format string, args ...any) error {
	return wire.Errorf("InvalidConfigurationRequest", "pinion: "+format, args...)
}
