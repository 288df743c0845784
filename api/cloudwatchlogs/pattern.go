package cloudwatchlogs

import (
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/lazyregexp"
)

// pattern matches lines: a line must contain every required term, no excluded one, and, where there are terms marked with ?, any
// of those.
type pattern struct {
	required, excluded, anyOf []string
}

// phrase is a word, or a phrase in quotes, with its mark.
var phrase = lazyregexp.New(`^([?-]?)(?:"((?:[^"\\]|\\.)+)"|([A-Za-z0-9_]+))(?:\s+|$)`)

// parsePattern reads the part of CloudWatch's filter language for unstructured text. The other parts are refused by name.
func parsePattern(text string) (pattern, error) {
	var p pattern
	if len(text) > 1024 {
		return p, wire.Errorf(wire.InvalidParameter, "filterPattern may have 1024 characters, not %d.", len(text))
	}
	rest := strings.TrimSpace(text)
	for kind, opening := range map[string]string{"patterns for JSON ({...})": "{", "patterns for columns ([...])": "[", "regular expressions (%...%)": "%"} {
		if strings.HasPrefix(rest, opening) {
			return p, wire.Errorf(wire.InvalidParameter, "pinion: filterPattern: %s are not supported. Use words, phrases in quotes, -word and ?word.", kind)
		}
	}
	for rest != "" {
		found := phrase.FindStringSubmatch(rest)
		if found == nil {
			return p, wire.Errorf(wire.InvalidParameter, `Invalid filter pattern: cannot read %q. A term with other characters than letters, digits and _ goes in quotes: "GET /path".`, rest)
		}
		rest = rest[len(found[0]):]
		word := found[3]
		if word == "" {
			word = unescape.ReplaceAllString(found[2], "$1")
		}
		switch found[1] {
		case "-":
			p.excluded = append(p.excluded, word)
		case "?":
			p.anyOf = append(p.anyOf, word)
		default:
			p.required = append(p.required, word)
		}
	}
	if len(p.anyOf) > 0 && len(p.required)+len(p.excluded) > 0 {
		return p, wire.Errorf(wire.InvalidParameter, "pinion: filterPattern: terms with ? together with others are not supported: mark all of them, or none.")
	}
	return p, nil
}

var unescape = lazyregexp.New(`\\(.)`)

func (p pattern) matches(text string) bool {
	for _, word := range p.excluded {
		if strings.Contains(text, word) {
			return false
		}
	}
	for _, word := range p.required {
		if !strings.Contains(text, word) {
			return false
		}
	}
	for _, word := range p.anyOf {
		if strings.Contains(text, word) {
			return true
		}
	}
	return len(p.anyOf) == 0
}
