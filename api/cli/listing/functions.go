package listing

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// functions are those of templates. To all of them, a member that an object has not is the empty text or the empty list.
func functions(utc bool) template.FuncMap {
	return template.FuncMap{
		"member": memberAt,
		"json": func(value any) (string, error) {
			text, err := json.Marshal(value)
			return string(text), err
		},
		"join": func(value any, separator string) (string, error) {
			values, isList := value.([]any)
			if !isList && value != nil {
				return "", fmt.Errorf("join needs a list")
			}
			texts := make([]string, len(values))
			for i, value := range values {
				texts[i] = fmt.Sprint(value)
			}
			return strings.Join(texts, separator), nil
		},
		"len":   length,
		"index": element,
		"lower": ofText(strings.ToLower),
		"upper": ofText(strings.ToUpper),
		"id":    ofText(client.ResourceID),
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

func ofText(change func(string) string) func(any) (string, error) {
	return func(value any) (string, error) {
		text, isText := value.(string)
		if !isText && value != nil {
			return "", fmt.Errorf("a text is needed, which a %T is not", value)
		}
		return change(text), nil
	}
}

func length(value any) (int, error) {
	switch value := value.(type) {
	case nil:
		return 0, nil
	case string:
		return len(value), nil
	case []any:
		return len(value), nil
	case map[string]any:
		return len(value), nil
	}
	return 0, fmt.Errorf("a %T has no length", value)
}

// element is the value at indices and names, one in the other; nil where one of them is not there.
func element(value any, path ...any) (any, error) {
	for _, at := range path {
		switch at := at.(type) {
		case string:
			below, err := memberAt(value, at)
			if err != nil {
				return nil, err
			}
			value = below
		case int:
			list, isList := value.([]any)
			if !isList && value != nil {
				return nil, fmt.Errorf("index %d: that is no list", at)
			}
			if value = nil; at >= 0 && at < len(list) {
				value = list[at]
			}
		default:
			return nil, fmt.Errorf("index %v: it is a number or a name", at)
		}
	}
	return value, nil
}
