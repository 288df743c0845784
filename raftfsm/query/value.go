package query

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// testOf returns the test of one value as text.
func testOf(o operator, arguments []lexeme) func(value string) bool {
	positive, negated := o.negates()
	switch positive {
	case in:
		return func(value string) bool {
			return slices.ContainsFunc(arguments, func(a lexeme) bool { return a.text == value }) != negated
		}
	case matches:
		pattern := arguments[0].compiled
		return func(value string) bool { return pattern.MatchString(value) != negated }
	case equals:
		return func(value string) bool { return (value == arguments[0].text) != negated }
	}
	return func(value string) bool { return o.accepts(compareTexts(value, arguments[0].text)) }
}

// compareTexts compares dotted numbers part by part, everything else as text.
func compareTexts(a, b string) int {
	x, isNumber := parseVersion(a)
	y, both := parseVersion(b)
	if isNumber && both {
		return x.compare(y)
	}
	return strings.Compare(a, b)
}

// version is a parsed 1.2.3-rc1: any number of numbers, and the text after the hyphen.
type version struct {
	numbers    []uint64
	prerelease string // sorts before the version without one; empty: none
}

// parseVersion accepts a leading v, and ignores the text after a plus.
func parseVersion(text string) (v version, ok bool) {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "+")
	text, v.prerelease, _ = strings.Cut(text, "-")
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return version{}, false
		}
		v.numbers = append(v.numbers, n)
	}
	return v, true
}

func (v version) compare(other version) int {
	for i := range max(len(v.numbers), len(other.numbers)) {
		if sign := cmp.Compare(v.number(i), other.number(i)); sign != 0 {
			return sign
		}
	}
	if v.prerelease == "" || other.prerelease == "" {
		return cmp.Compare(len(other.prerelease), len(v.prerelease))
	}
	return strings.Compare(v.prerelease, other.prerelease)
}

func (v version) number(i int) uint64 {
	if i < len(v.numbers) {
		return v.numbers[i]
	}
	return 0
}

// parseTime parses a date, with a precision of a day, or a time, with a precision of a second. Both are in UTC unless the
// time has a zone.
func parseTime(text string) (at time.Time, precision time.Duration, ok bool) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, 24 * time.Hour, true
	}
	for _, form := range []string{"2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC().Truncate(time.Second), time.Second, true
		}
	}
	return time.Time{}, 0, false
}
