package secretsmanager

import (
	"slices"
	"strings"

	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
)

// filter is one condition on secrets: one of its values fits.
type filter struct {
	Key    string   `json:"Key"`
	Values []string `json:"Values"`
}

// AWS's bounds of filters and their values.
const (
	maxFilters     = 10
	maxFilterValue = 512
)

// conditions are what filters compare, by their keys.
var conditions = map[string]func(s *secret.Secret, value string) bool{
	"name":        func(s *secret.Secret, value string) bool { return strings.HasPrefix(s.Name, value) },
	"description": func(s *secret.Secret, value string) bool { return hasWords(value, s.Description) },
	"tag-key": func(s *secret.Secret, value string) bool {
		return hasTag(s, func(t spec.Tag) bool { return strings.HasPrefix(t.Key, value) })
	},
	"tag-value": func(s *secret.Secret, value string) bool {
		return hasTag(s, func(t spec.Tag) bool { return strings.HasPrefix(t.Value, value) })
	},
	"all": func(s *secret.Secret, value string) bool {
		texts := []string{s.Name, s.Description}
		for _, tag := range s.Tags {
			texts = append(texts, tag.Key, tag.Value)
		}
		return hasWords(value, texts...)
	},
	// No secret of a pool has these.
	"primary-region": func(*secret.Secret, string) bool { return false },
	"owning-service": func(*secret.Secret, string) bool { return false },
}

// hasWords reports whether each word begins one of the words of the texts, in any case.
func hasWords(words string, texts ...string) bool {
	wanted := split(words)
	var have []string
	for _, text := range texts {
		have = append(have, split(text)...)
	}
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(word string) bool {
		return !slices.ContainsFunc(have, func(has string) bool { return strings.HasPrefix(has, word) })
	})
}

// split is the words of a text, in lower case.
func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return strings.ContainsRune(" /-_+=.@,;:\t\n", c) })
}

// compile makes one condition of filters. A value that begins with ! fits what does not fit the rest of it.
func compile(filters []filter) (passes func(*secret.Secret) bool, err error) {
	if len(filters) > maxFilters {
		return nil, errInvalid("Filters can have at most %d items, not %d.", maxFilters, len(filters))
	}
	for _, f := range filters {
		if conditions[f.Key] == nil {
			return nil, errInvalid("The filter key %.100q is not valid. Valid keys are name, description, tag-key, tag-value, primary-region, owning-service and all.", f.Key)
		}
		if len(f.Values) == 0 || len(f.Values) > maxFilters {
			return nil, errInvalid("A filter must have 1 to %d values, not %d.", maxFilters, len(f.Values))
		}
		for _, value := range f.Values {
			if value == "" || len(value) > maxFilterValue {
				return nil, errInvalid("A value of a filter must have 1 to %d characters.", maxFilterValue)
			}
		}
	}
	return func(s *secret.Secret) bool {
		return !slices.ContainsFunc(filters, func(f filter) bool { return !f.fits(s) })
	}, nil
}

func (f filter) fits(s *secret.Secret) bool {
	return slices.ContainsFunc(f.Values, func(value string) bool {
		wanted, negated := strings.CutPrefix(value, "!")
		return conditions[f.Key](s, wanted) != negated
	})
}
