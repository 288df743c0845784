package query

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"pinion/raftfsm/re2"
)

const isRE2 = "Pinion's patterns are RE2, which keeps matching fast whatever the pattern"

// MaxInstructions bounds the compiled patterns of an expression together: what it takes in memory, and in steps for each character of a value.
const MaxInstructions = 1000

// maxClasses bounds what the classes of its patterns hold together: a scheduler parses the constraints of all waiting tasks.
const maxClasses = 25_000

// bound bounds the cost of all patterns of an expression.
var bound = re2.Cost{Instructions: MaxInstructions, Classes: maxClasses}

// compilePattern compiles a pattern that matches whole values only.
func (p *parser) compilePattern(t lexeme) (*regexp.Regexp, *Error) {
	if at := strings.Index(t.text, "&&"); at >= 0 { // Java's intersection; RE2 would take it for two characters
		return nil, errorAt(columnIn(t, at), "the pattern has &&, the intersection of character classes, which is not there: "+isRE2)
	}
	cost, err := re2.Check(t.text, p.left) // alone, because a)(b must not close our group
	if err != nil {
		return nil, refusePattern(t, err)
	}
	p.left = p.left.Minus(cost)
	pattern, err := regexp.Compile(`\A(?:` + t.text + `)\z`)
	if err != nil {
		return nil, refusePattern(t, err)
	}
	return pattern, nil
}

// refusePattern reports the part that RE2 refuses, and the features of Java's patterns that are not supported.
func refusePattern(t lexeme, err error) *Error {
	if _, costs := errors.AsType[*re2.CostError](err); costs {
		return errorAt(t.column, "the pattern costs too much: %v; those of one expression can have %d instructions and classes of %d characters together", err, MaxInstructions, maxClasses)
	}
	var refused *syntax.Error
	if !errors.As(err, &refused) {
		return errorAt(t.column, "the pattern cannot be used: %v", err)
	}
	at, part := max(strings.Index(t.text, refused.Expr), 0), refused.Expr
	after := t.text[at+min(len(part), len(t.text)-at):]
	switch {
	case refused.Code == syntax.ErrMissingRepeatArgument || refused.Code == syntax.ErrInvalidRepeatOp && !strings.HasSuffix(part, "+"):
		return errorAt(columnIn(t, at), "the pattern has %s with nothing to repeat", part)
	case refused.Code == syntax.ErrInvalidRepeatOp:
		return errorAt(columnIn(t, at), "the pattern has the possessive %s, which is not there: %s", part, isRE2)
	case strings.HasPrefix(part, "(?=") || strings.HasPrefix(part, "(?!") || strings.HasPrefix(part, "(?<") ||
		part == "(?" && strings.ContainsAny(after[:min(1, len(after))], "=!"):
		return errorAt(columnIn(t, at), "the pattern has the look-around %s, which is not there: %s", part, isRE2)
	case strings.HasPrefix(part, "(?>"):
		return errorAt(columnIn(t, at), "the pattern has the atomic group %s, which is not there: %s", part, isRE2)
	case refused.Code == syntax.ErrInvalidEscape && len(part) == 2 && '1' <= part[1] && part[1] <= '9':
		return errorAt(columnIn(t, at), "the pattern has the back-reference %s, which is not there: %s", part, isRE2)
	}
	return errorAt(columnIn(t, at), "the pattern cannot be used: %s: %s (%s)", refused.Code, part, isRE2)
}

// columnIn converts an offset in a token's text to a column of the expression. Doubled quotes before it are not counted.
func columnIn(t lexeme, at int) int {
	column := t.column + utf8.RuneCountInString(t.text[:at])
	if t.kind == quoted {
		column++
	}
	return column
}
