package secretsmanager

import (
	"context"
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

// AWS's bounds of filters and their values, and those of the words of values, each of which is looked for in all words of each secret.
const (
	maxFilters       = 10
	maxFilterValue   = 512
	maxWordsPerValue = 32
	maxWords         = 64
)

// conditions are what filters compare, by their keys.
var conditions = map[string]func(s *subject, v *wanted) bool{
	"name":        func(s *subject, v *wanted) bool { return strings.HasPrefix(s.Name, v.text) },
	"description": func(s *subject, v *wanted) bool { return v.areIn(s.wordsOfDescription()) },
	"tag-key": func(s *subject, v *wanted) bool {
		return hasTag(s.Secret, func(t spec.Tag) bool { return strings.HasPrefix(t.Key, v.text) })
	},
	"tag-value": func(s *subject, v *wanted) bool {
		return hasTag(s.Secret, func(t spec.Tag) bool { return strings.HasPrefix(t.Value, v.text) })
	},
	"all": func(s *subject, v *wanted) bool { return v.areIn(s.words()) },
	// No secret of a pool has these.
	"primary-region": func(*subject, *wanted) bool { return false },
	"owning-service": func(*subject, *wanted) bool { return false },
}

// subject is a secret with its words, which are split when a filter asks for them first.
type subject struct {
	*secret.Secret
	description, all []string
}

func (s *subject) wordsOfDescription() []string {
	if s.description == nil {
		s.description = split(s.Description)
	}
	return s.description
}

// words are those of all that a secret shows.
func (s *subject) words() []string {
	if s.all == nil {
		s.all = append(split(s.Name), s.wordsOfDescription()...)
		for _, tag := range s.Tags {
			s.all = append(append(s.all, split(tag.Key)...), split(tag.Value)...)
		}
	}
	return s.all
}

// split is the words of a text, in lower case.
func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return strings.ContainsRune(" /-_+=.@,;:\t\n", c) })
}

// wanted is one value of a filter. A value that begins with ! fits what does not fit the rest of it.
type wanted struct {
	text    string
	words   []string
	negated bool
}

// areIn reports whether each wanted word begins one of these.
func (v *wanted) areIn(words []string) bool {
	return len(v.words) > 0 && !slices.ContainsFunc(v.words, func(word string) bool {
		return !slices.ContainsFunc(words, func(has string) bool { return strings.HasPrefix(has, word) })
	})
}

// condition is a filter that was checked.
type condition struct {
	compare func(*subject, *wanted) bool
	values  []wanted
}

func (c *condition) fits(s *subject) bool {
	return slices.ContainsFunc(c.values, func(v wanted) bool { return c.compare(s, &v) != v.negated })
}

// conditionList is a list of filters that were checked. A secret passes that fits each of them.
type conditionList []condition

// compile checks filters.
func compile(filters []filter) (all conditionList, err error) {
	if len(filters) > maxFilters {
		return nil, errInvalid("Filters can have at most %d items, not %d.", maxFilters, len(filters))
	}
	words := 0
	for _, f := range filters {
		c := condition{compare: conditions[f.Key]}
		if c.compare == nil {
			return nil, errInvalid("The filter key %.100q is not valid. Valid keys are name, description, tag-key, tag-value, primary-region, owning-service and all.", f.Key)
		}
		if len(f.Values) == 0 || len(f.Values) > maxFilters {
			return nil, errInvalid("A filter must have 1 to %d values, not %d.", maxFilters, len(f.Values))
		}
		for _, value := range f.Values {
			if value == "" || len(value) > maxFilterValue {
				return nil, errInvalid("A value of a filter must have 1 to %d characters.", maxFilterValue)
			}
			v := wanted{}
			v.text, v.negated = strings.CutPrefix(value, "!")
			if f.Key == "all" || f.Key == "description" {
				v.words = split(v.text)
			}
			if words += len(v.words); len(v.words) > maxWordsPerValue || words > maxWords {
				return nil, errInvalid("A value of a filter can have at most %d words, and all values of a request %d.", maxWordsPerValue, maxWords)
			}
			c.values = append(c.values, v)
		}
		all = append(all, c)
	}
	return all, nil
}

// choose takes the secrets that pass, those that are to be deleted only when they are asked for. It ends when nobody waits for the answer.
func (l conditionList) choose(ctx context.Context, secrets []*secret.Secret, deleted bool) (found []*secret.Secret, err error) {
	for _, s := range secrets {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if secret.ReadOnly(s) == nil || deleted {
			if subject := (&subject{Secret: s}); !slices.ContainsFunc(l, func(c condition) bool { return !c.fits(subject) }) {
				found = append(found, s)
			}
		}
	}
	return found, nil
}
