package query

import (
	"strings"
	"unicode/utf8"

	"pinion/gpu"
	"pinion/raftfsm/re2"
)

// MaxLength bounds the characters of an expression.
const MaxLength = 2000

// Expr is a parsed expression. It is immutable and safe for concurrent use.
type Expr struct {
	root  node
	tasks bool
	gpus  bool

	instructions int // of its patterns, within MaxInstructions
}

// Parse parses an expression. The error is an *Error with the column.
func Parse(expression string) (*Expr, error) {
	if n := utf8.RuneCountInString(expression); n > MaxLength {
		return nil, errorAt(MaxLength+1, "the expression has %d characters, at most %d are allowed", n, MaxLength)
	}
	p := &parser{scanner: scanner{text: []rune(expression)}, left: bound}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	return &Expr{root: root, tasks: p.tasks, gpus: p.gpus, instructions: bound.Minus(p.left).Instructions}, nil
}

// parser is a recursive descent parser: a method for each rule of the grammar, which leaves the token after the rule in
// p.token.
type parser struct {
	scanner
	lexeme lexeme
	tasks  bool     // a comparison reads the host's tasks
	gpus   bool     // a comparison reads an attribute of GPUs
	left   re2.Cost // for the patterns to come
}

func (p *parser) advance() (err *Error) {
	p.lexeme, err = p.next()
	return err
}

func (p *parser) parse() (node, *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.lexeme.kind == eof {
		return nil, errorAt(1, "the expression is empty: write for example attribute:ecs.instance-type == p2.xlarge")
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	switch {
	case p.lexeme.isValue():
		return nil, errorAt(p.lexeme.column, "expected and, or, or the end here, not %s: a value with spaces stands in quotes, 'NVIDIA H100'", p.lexeme)
	case p.lexeme.kind != eof:
		return nil, errorAt(p.lexeme.column, "expected and, or, or the end here, not %s", p.lexeme)
	}
	return root, nil
}

func (p *parser) or() (node, *Error) {
	nodes, err := p.chain(p.and, "||", "or")
	if err != nil || len(nodes) > 1 {
		return anyOf(nodes), err
	}
	return nodes[0], nil
}

func (p *parser) and() (node, *Error) {
	nodes, err := p.chain(p.not, "&&", "and")
	if err != nil || len(nodes) > 1 {
		return allOf(nodes), err
	}
	return nodes[0], nil
}

// chain parses operands that are joined by one of the links.
func (p *parser) chain(operand func() (node, *Error), links ...string) ([]node, *Error) {
	var nodes []node
	for {
		n, err := operand()
		if err != nil {
			return nil, err
		}
		if nodes = append(nodes, n); !p.lexeme.is(links...) {
			return nodes, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) not() (node, *Error) {
	switch {
	case p.lexeme.is("!", "not"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		inner, err := p.not()
		return not{inner}, err
	case p.lexeme.is("("):
		return p.parenthesis()
	}
	return p.comparison()
}

func (p *parser) parenthesis() (node, *Error) {
	open := p.lexeme.column
	if err := p.advance(); err != nil {
		return nil, err
	}
	inner, err := p.or()
	if err != nil {
		return nil, err
	}
	if !p.lexeme.is(")") {
		return nil, errorAt(p.lexeme.column, "expected ) for the ( in column %d, not %s", open, p.lexeme)
	}
	return inner, p.advance()
}

func (p *parser) comparison() (node, *Error) {
	start := p.lexeme
	s, name, err := p.subject()
	if err != nil {
		return nil, err
	}
	at := p.lexeme.column
	o, err := p.operator()
	if err != nil {
		return nil, err
	}
	if !s.allows(o) {
		return nil, errorAt(at, "%s cannot be used with %s: possible are %s", o, start.text, joinOperators(s.operators))
	}
	arguments, err := p.arguments(o)
	if err != nil {
		return nil, err
	}
	p.tasks, p.gpus = p.tasks || s.tasks, p.gpus || gpu.IsAttribute(name)
	c := &comparison{subject: start.text, operator: o}
	for _, a := range arguments {
		c.arguments = append(c.arguments, a.text)
	}
	c.test, err = s.compile(name, o, arguments)
	c.actual = func(f HostFacts) string { return s.actual(f, name) }
	return c, err
}

func (p *parser) subject() (s subject, name string, err *Error) {
	t := p.lexeme
	if t.kind != bareWord {
		return s, "", errorAt(t.column, "expected a subject here, not %s: %s", t, subjectNames)
	}
	prefix, rest, isAttribute := strings.Cut(t.text, "attribute:")
	if isAttribute && prefix == "" {
		if rest == "" {
			return s, "", errorAt(t.column+len(t.text), "attribute: needs the name of an attribute, without a blank")
		}
		if at := strings.IndexFunc(rest, invalidInName); at >= 0 {
			return s, "", errorAt(t.column+len("attribute:")+at, "names of attributes have letters, digits and _ . / \\ - only, no %q", []rune(rest[at:])[0])
		}
		return attribute, rest, p.advance()
	}
	s, known := subjects[t.text]
	if !known {
		return s, "", errorAt(t.column, "%s is not a subject: %s", t, subjectNames)
	}
	return s, "", p.advance()
}

func invalidInName(c rune) bool {
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(`_./\-`, c))
}

// operator parses one operator; "!in" and "!exists" are two tokens. It does not scan the following token yet, because
// patterns have rules of their own.
func (p *parser) operator() (operator, *Error) {
	t := p.lexeme
	text := t.text
	if t.is("!") {
		if err := p.advance(); err != nil {
			return 0, err
		}
		if text = "!" + p.lexeme.text; !p.lexeme.is("in", "exists") {
			return 0, errorAt(t.column, "expected !in or !exists here, not ! and %s", p.lexeme)
		}
	}
	o, known := operatorOf(text)
	if !known || t.kind == quoted || t.kind == eof {
		return 0, errorAt(t.column, "expected an operator here, not %s: %s", t, joinOperators(allOperators))
	}
	return o, nil
}

// arguments parses the operator's arguments, and scans the token after them.
func (p *parser) arguments(o operator) ([]lexeme, *Error) {
	switch o {
	case exists, notExists:
		return nil, p.advance()
	case in, notIn:
		return p.list(o)
	}
	read := p.next
	if o == matches || o == notMatches {
		read = p.pattern
	}
	t, err := read()
	if err != nil {
		return nil, err
	}
	if !t.isValue() {
		return nil, errorAt(t.column, "expected a value after %s here, not %s; a value with blanks, brackets or operators needs quotes", o, t)
	}
	if o == matches || o == notMatches {
		if t.compiled, err = p.compilePattern(t); err != nil {
			return nil, err
		}
	}
	return []lexeme{t}, p.advance()
}

func (p *parser) list(o operator) ([]lexeme, *Error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if !p.lexeme.is("[") {
		return nil, errorAt(p.lexeme.column, "%s needs a list such as [a, b], not %s", o, p.lexeme)
	}
	var values []lexeme
	for {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if !p.lexeme.isValue() {
			return nil, errorAt(p.lexeme.column, "expected a value of the list here, not %s", p.lexeme)
		}
		values = append(values, p.lexeme)
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.lexeme.is("]") {
			return values, p.advance()
		}
		if !p.lexeme.is(",") {
			return nil, errorAt(p.lexeme.column, "expected , or ] here, not %s", p.lexeme)
		}
	}
}
