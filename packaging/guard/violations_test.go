package guard

import (
	"slices"
	"testing"
)

// violations are what breaks a rule, by what it is, with what to say of it.
type violations map[string]string

// check reports the violations beside the exceptions, and exceptions that keep the rule now.
func (v violations) check(t *testing.T, exceptions ...string) {
	t.Helper()
	for what, complaint := range v {
		if !slices.Contains(exceptions, what) {
			t.Error(complaint)
		}
	}
	for _, what := range exceptions {
		if _, still := v[what]; !still {
			t.Errorf("%s keeps the rule now: take it off the exceptions", what)
		}
	}
}
