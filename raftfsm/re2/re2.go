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

// Cost is the cost of an expression.
type Cost struct {
	Instructions int // that it is compiled to
	Classes      int // characters of its classes, each of which the parser looks at: 100,000 take it some 6 ms
}

// Minus returns the cost that is left.
func (c Cost) Minus(other Cost) Cost {
	return Cost{c.Instructions - other.Instructions, c.Classes - other.Classes}
}

// Check parses an expression, and returns what it costs. No repetition is expanded for that. The error is a *syntax.Error, or a *CostError when it
// costs more than limit.
func Check(expression string, limit Cost) (cost Cost, err error) {
	if cost.Classes = classCost(expression); cost.Classes > limit.Classes {
		return cost, &CostError{fmt.Sprintf("its classes of characters hold %d, at most %d are allowed: use smaller ranges", cost.Classes, limit.Classes)}
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return cost, err
	}
	if cost.Instructions = 2 + count(parsed); cost.Instructions > limit.Instructions { // 2: the failure and the match
		return cost, &CostError{fmt.Sprintf("it repeats too much: it takes %d steps for each character, at most %d are allowed", cost.Instructions, limit.Instructions)}
	}
	return cost, nil
}

// count bounds the instructions that a part is compiled to. The parser keeps products of repetitions within 1,000, so that no sum overflows.
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
