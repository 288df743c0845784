// Package re2 compiles the regular expressions of users, of RE2's syntax (https://github.com/google/re2/wiki/Syntax), within a bound. Matching one
// takes as many steps for a byte as the expression has instructions at most; so does the memory that it takes. A few characters of repetitions
// stand for millions of instructions.
package re2

import (
	"fmt"
	"regexp/syntax"
)

// CostError is the refusal of an expression that is of the syntax and costs too much. It was not compiled.
type CostError struct{ reason string }

func (e *CostError) Error() string { return e.reason }

// Check parses an expression, and returns the number of instructions that it is compiled to. That takes some milliseconds at most: no repetition
// is expanded. The error is a *syntax.Error, or a *CostError when there are more than limit, or classes of too many characters.
func Check(expression string, limit int) (instructions int, err error) {
	if classCost(expression) > maxClassCost {
		return 0, &CostError{"its classes of characters hold too many: use smaller ranges"}
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0, err
	}
	instructions = 2 + count(parsed) // the failure and the match
	if instructions > limit {
		return instructions, &CostError{fmt.Sprintf("it repeats too much: it takes %d steps for each character, at most %d are allowed", instructions, limit)}
	}
	return instructions, nil
}

// count is how many instructions a part is compiled to, at most. The parser keeps products of repetitions within 1,000, so that no sum overflows.
func count(part *syntax.Regexp) int {
	n := 0
	for _, sub := range part.Sub {
		n += count(sub)
	}
	switch part.Op {
	case syntax.OpLiteral:
		return len(part.Rune)
	case syntax.OpCapture, syntax.OpStar: // begin and end; what repeats the part and, where it may be empty, what skips it
		return n + 2
	case syntax.OpPlus, syntax.OpQuest:
		return n + 1
	case syntax.OpAlternate:
		return n + len(part.Sub) - 1
	case syntax.OpConcat:
		return n
	case syntax.OpRepeat:
		return repeated(n, part.Min, part.Max)
	}
	return 1
}

// repeated counts the copies of a part of n instructions that stand for {least,most}: those beyond the least are options, one inside the other.
func repeated(n, least, most int) int {
	switch {
	case most >= 0:
		return max(1, most*n+most-least)
	case least == 0:
		return n + 2
	}
	return least*n + 1
}
