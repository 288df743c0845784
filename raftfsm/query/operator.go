package query

import (
	"slices"
	"strings"
)

// operator is one of ECS's twelve operators; a negated one follows its positive one.
type operator int

const (
	equals operator = iota
	notEquals
	greater
	greaterEqual
	less
	lessEqual
	exists
	notExists
	in
	notIn
	matches
	notMatches
)

// spellings are the symbol and the word of each operator. The first one is printed.
var spellings = [...][2]string{
	equals: {"==", "equals"}, notEquals: {"!=", "not_equals"},
	greater: {">", "greater_than"}, greaterEqual: {">=", "greater_than_equal"},
	less: {"<", "less_than"}, lessEqual: {"<=", "less_than_equal"},
	exists: {"exists", "exists"}, notExists: {"!exists", "not_exists"},
	in: {"in", "in"}, notIn: {"!in", "not_in"},
	matches: {"=~", "matches"}, notMatches: {"!~", "not_matches"},
}

var (
	ordering     = []operator{equals, notEquals, greater, greaterEqual, less, lessEqual}
	textual      = []operator{equals, notEquals, in, notIn, matches, notMatches}
	presence     = []operator{exists, notExists}
	allOperators = slices.Concat(ordering, presence, textual[2:])
)

func (o operator) String() string { return spellings[o][0] }

func operatorOf(text string) (operator, bool) {
	for o := range spellings {
		if slices.Contains(spellings[o][:], text) {
			return operator(o), true
		}
	}
	return 0, false
}

// negates reports whether the operator is the negation of another one, and which.
func (o operator) negates() (opposite operator, yes bool) {
	switch o {
	case notEquals, notExists, notIn, notMatches:
		return o - 1, true
	}
	return o, false
}

// accepts reports whether the operator holds for a value that compares to the argument as sign (-1, 0, 1).
func (o operator) accepts(sign int) bool {
	switch o {
	case equals:
		return sign == 0
	case notEquals:
		return sign != 0
	case greater:
		return sign > 0
	case greaterEqual:
		return sign >= 0
	case less:
		return sign < 0
	case lessEqual:
		return sign <= 0
	}
	return false
}

func joinOperators(operators []operator) string {
	var texts []string
	for _, o := range operators {
		texts = append(texts, o.String())
	}
	return strings.Join(texts, " ")
}
