package query

import (
	"strings"
	"testing"
)

// A parser looks at each character of a class, and a scheduler parses the constraints of all that wait: what one pattern may cost, all of an expression
// may cost together.
func TestPatternsOfOneExpressionAreBoundedTogether(t *testing.T) {
	const wide = `attribute:a =~ '(?i)[\x{1000}-\x{5000}]'`
	if _, err := Parse(wide); err != nil {
		t.Error(err)
	}
	if _, err := Parse("attribute:a =~ '[一-龥]+'"); err != nil {
		t.Errorf("the characters of a language: %v", err)
	}
	for _, expression := range []string{wide + " or " + wide, `attribute:a =~ '(?i)[B-𞥂]'`, "attribute:a =~ 'x{600}' or attribute:a =~ 'x{600}'"} {
		if _, err := Parse(expression); err == nil || !strings.Contains(err.Error(), "costs too much") {
			t.Errorf("%s: %v", expression, err)
		}
	}
}
