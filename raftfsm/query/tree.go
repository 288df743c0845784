package query

import (
	"slices"
	"strings"
)

// node is a part of an expression.
type node interface {
	match(f HostFacts) bool
	why(f HostFacts) string // empty when it matches
	text() string
}

type (
	allOf []node // two or more
	anyOf []node // two or more
	not   struct{ node }
	// comparison is a leaf. test and actual are derived from the other fields by the parser.
	comparison struct {
		subject   string
		operator  operator
		arguments []string
		test      func(HostFacts) bool
		actual    func(HostFacts) string // what the host has instead, for people
	}
)

func (n allOf) match(f HostFacts) bool {
	return !slices.ContainsFunc(n, func(part node) bool { return !part.match(f) })
}

func (n anyOf) match(f HostFacts) bool {
	return slices.ContainsFunc(n, func(part node) bool { return part.match(f) })
}

func (n not) match(f HostFacts) bool         { return !n.node.match(f) }
func (n *comparison) match(f HostFacts) bool { return n.test(f) }

// why of allOf is the why of its first part that does not match.
func (n allOf) why(f HostFacts) string {
	for _, part := range n {
		if !part.match(f) {
			return part.why(f)
		}
	}
	return ""
}

func (n anyOf) why(f HostFacts) string {
	reasons := make([]string, len(n))
	for i, part := range n {
		reasons[i] = part.why(f)
	}
	return strings.Join(reasons, "; ")
}

func (n not) why(f HostFacts) string {
	if c, leaf := n.node.(*comparison); leaf {
		return n.text() + ": " + c.actual(f)
	}
	return n.text() + " is not so"
}

func (n *comparison) why(f HostFacts) string { return n.text() + ": " + n.actual(f) }

func (n allOf) text() string { return joinNodes(n, " and ") }
func (n anyOf) text() string { return joinNodes(n, " or ") }
func (n not) text() string   { return "not(" + n.node.text() + ")" }

func joinNodes(nodes []node, link string) string {
	texts := make([]string, len(nodes))
	for i, part := range nodes {
		texts[i] = part.text()
		switch part.(type) {
		case allOf, anyOf:
			texts[i] = "(" + texts[i] + ")"
		}
	}
	return strings.Join(texts, link)
}

func (n *comparison) text() string {
	text := n.subject + " " + n.operator.String()
	switch n.operator {
	case exists, notExists:
		return text
	case in, notIn:
		values := make([]string, len(n.arguments))
		for i, a := range n.arguments {
			values[i] = quote(a, special)
		}
		return text + " [" + strings.Join(values, ", ") + "]"
	case matches, notMatches:
		return text + " " + quote(n.arguments[0], patternSpecial)
	}
	return text + " " + quote(n.arguments[0], special)
}

// quote returns a value bare if possible, otherwise quoted.
func quote(value, special string) string {
	if value != "" && !strings.ContainsFunc(value, func(c rune) bool { return !isBare(c, special) }) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}
