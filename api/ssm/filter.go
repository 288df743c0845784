package ssm

import (
	"cmp"
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/secret"
)

// filter is one condition on parameters.
type filter struct {
	Key    string   `json:"Key"`
	Option string   `json:"Option"`
	Values []string `json:"Values"`
}

// Options of filters.
const (
	equals     = "Equals"
	beginsWith = "BeginsWith"
	contains   = "Contains"
	recursive  = "Recursive"
	oneLevel   = "OneLevel"
)

// Bounds of the filters of a request, so that one request costs little however large the pool is. AWS's is that of values.
const (
	maxFilters = 20
	maxValues  = 50
)

// tagPrefix begins the key of a filter on a tag.
const tagPrefix = "tag:"

// Keys of filters.
const (
	keyName  = "Name"
	keyPath  = "Path"
	keyLabel = "Label"
)

// texts are what a filter compares, by its key.
var texts = map[string]func(*secret.Secret) string{
	keyName:    func(s *secret.Secret) string { return "/" + strings.TrimPrefix(s.Name, "/") },
	"Type":     func(s *secret.Secret) string { return s.Parameter.Type },
	"KeyId":    keyOf,
	"DataType": func(s *secret.Secret) string { return s.Parameter.DataType },
	"Tier":     func(s *secret.Secret) string { return s.Parameter.Tier },
}

// condition reports whether a parameter passes.
type condition func(*secret.Secret) bool

// earlier are the filters of earlier clients, which have no options.
func earlier(given []filter) (all []filter) {
	for _, f := range given {
		f.Option = equals
		if f.Key == keyName {
			f.Option = beginsWith
		}
		all = append(all, f)
	}
	return all
}

// compile makes one condition of the filters of DescribeParameters.
func compile(filters []filter) (condition, error) {
	if err := checkFilters(filters); err != nil {
		return nil, err
	}
	var all []condition
	for _, f := range filters {
		passes, err := f.compile()
		if err != nil {
			return nil, err
		}
		all = append(all, passes)
	}
	return func(s *secret.Secret) bool {
		return !slices.ContainsFunc(all, func(passes condition) bool { return !passes(s) })
	}, nil
}

// compileByPath makes one condition of the filters of GetParametersByPath, which may name a label too.
func compileByPath(filters []filter) (passes condition, label string, err error) {
	var others []filter
	for _, f := range filters {
		switch f.Key {
		case keyLabel:
			if len(f.Values) != 1 || cmp.Or(f.Option, equals) != equals || label != "" {
				return nil, "", wire.Errorf(invalidValue, "A filter on Label has one value, with the option Equals.")
			}
			label = f.Values[0]
		case "Type", "KeyId":
			others = append(others, f)
		default:
			return nil, "", wire.Errorf(invalidFilterKey, "The filter key %.128q is not valid here. Valid filter keys include: [Type, KeyId, Label].", f.Key)
		}
	}
	passes, err = compile(others)
	return passes, label, err
}

func checkFilters(filters []filter) error {
	if len(filters) > maxFilters {
		return errInvalid("A request can have at most %d filters, not %d.", maxFilters, len(filters))
	}
	seen := map[string]bool{}
	for _, f := range filters {
		if seen[f.Key] {
			return errInvalid("The following filters are duplicated in the request: [%.128s]. A request can contain only one occurrence of a specific filter.", f.Key)
		}
		if seen[f.Key] = true; len(f.Values) > maxValues {
			return wire.Errorf(invalidValue, "A filter can have at most %d values, not %d.", maxValues, len(f.Values))
		}
	}
	return nil
}

// compile makes the condition of one filter.
func (f filter) compile() (condition, error) {
	if tag, is := strings.CutPrefix(f.Key, tagPrefix); is {
		return f.compileTag(tag)
	}
	if len(f.Values) == 0 {
		return nil, wire.Errorf(invalidValue, "The filter on %.128q needs values.", f.Key)
	}
	if f.Key == keyPath {
		return f.compilePath()
	}
	text, known := texts[f.Key]
	if !known {
		return nil, wire.Errorf(invalidFilterKey, "The filter key %.128q is not valid. Valid filter keys include: [DataType, KeyId, Name, Path, Tier, Type, tag:KEY].", f.Key)
	}
	values := f.Values
	if f.Key == keyName && f.Option != contains {
		values = make([]string, len(f.Values))
		for i, name := range f.Values {
			values[i] = "/" + strings.TrimPrefix(name, "/")
		}
	}
	compare, err := f.comparison()
	if err != nil {
		return nil, err
	}
	return func(s *secret.Secret) bool {
		has := text(s)
		return slices.ContainsFunc(values, func(value string) bool { return compare(has, value) })
	}, nil
}

// comparison is what the option of a filter means.
func (f filter) comparison() (func(has, value string) bool, error) {
	switch option := cmp.Or(f.Option, equals); {
	case option == equals:
		return func(has, value string) bool { return has == value }, nil
	case option == beginsWith:
		return strings.HasPrefix, nil
	case option == contains && f.Key == keyName:
		return strings.Contains, nil
	}
	return nil, wire.Errorf(invalidOption, "The filter option %.128q is not valid for the key %.128s. Valid options include: [BeginsWith, Equals], and Contains for Name.", f.Option, f.Key)
}

func (f filter) compilePath() (condition, error) {
	option := cmp.Or(f.Option, oneLevel)
	if option != oneLevel && option != recursive {
		return nil, wire.Errorf(invalidOption, "The filter option %.128q is not valid for the key Path. Valid options include: [Recursive, OneLevel].", f.Option)
	}
	for _, path := range f.Values {
		if err := checkPath(path); err != nil {
			return nil, wire.Errorf(invalidValue, "%s", err.(*wire.Error).Message)
		}
	}
	return func(s *secret.Secret) bool {
		return slices.ContainsFunc(f.Values, func(path string) bool { return isBelow(s.Name, path, option == recursive) })
	}, nil
}

// compileTag makes the condition that a parameter has a tag, with one of the values if there are some.
func (f filter) compileTag(key string) (condition, error) {
	compare, err := f.comparison()
	if err != nil {
		return nil, err
	}
	return func(s *secret.Secret) bool {
		for _, tag := range s.Tags {
			if tag.Key == key {
				return len(f.Values) == 0 || slices.ContainsFunc(f.Values, func(value string) bool { return compare(tag.Value, value) })
			}
		}
		return false
	}, nil
}
