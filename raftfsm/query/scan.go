package query

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

type kind int

const (
	eof      kind = iota
	bareWord      // a bare name or value
	quoted        // a value in quotes
	symbol        // an operator, a bracket, a comma
)

// lexeme is one lexical element of an expression. The text of a quoted token is without its quotes.
type lexeme struct {
	kind   kind
	text   string
	column int

	compiled *regexp.Regexp // of the argument of matches and not_matches
}

func (t lexeme) is(texts ...string) bool {
	for _, text := range texts {
		if (t.kind == bareWord || t.kind == symbol) && t.text == text {
			return true
		}
	}
	return false
}

func (t lexeme) isValue() bool { return t.kind == bareWord || t.kind == quoted }

func (t lexeme) String() string {
	if t.kind == eof {
		return "the end"
	}
	return fmt.Sprintf("%q", t.text)
}

// symbols are tried in this order, so that the longest one wins.
var symbols = []string{"==", "!=", ">=", "<=", "=~", "!~", "&&", "||", ">", "<", "!", "(", ")", "[", "]", ","}

// special characters end a bare word.
const special = `()[],=!<>~&|'"`

// patternSpecial characters end a bare pattern, in which brackets are character classes.
const patternSpecial = `(),=!<>~&|'"`

// scanner splits an expression into tokens. Columns count characters.
type scanner struct {
	text []rune
	at   int
}

func (s *scanner) next() (lexeme, *Error)    { return s.scan(special) }
func (s *scanner) pattern() (lexeme, *Error) { return s.scan(patternSpecial) }

func (s *scanner) scan(special string) (lexeme, *Error) {
	for s.at < len(s.text) && unicode.IsSpace(s.text[s.at]) {
		s.at++
	}
	start := s.at
	if start == len(s.text) {
		return lexeme{kind: eof, column: start + 1}, nil
	}
	if c := s.text[start]; c == '\'' || c == '"' {
		return s.quotation(c)
	}
	for s.at < len(s.text) && isBare(s.text[s.at], special) {
		s.at++
	}
	if s.at > start {
		return lexeme{kind: bareWord, text: string(s.text[start:s.at]), column: start + 1}, nil
	}
	return s.operator()
}

func isBare(c rune, special string) bool {
	return unicode.IsGraphic(c) && !unicode.IsSpace(c) && !strings.ContainsRune(special, c)
}

// quotation scans up to the closing quote. Only the quote is special inside, and is written twice.
func (s *scanner) quotation(quote rune) (lexeme, *Error) {
	start := s.at
	var text strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		if s.text[s.at] != quote {
			text.WriteRune(s.text[s.at])
			continue
		}
		if s.at+1 == len(s.text) || s.text[s.at+1] != quote {
			s.at++
			return lexeme{kind: quoted, text: text.String(), column: start + 1}, nil
		}
		s.at++
		text.WriteRune(quote)
	}
	return lexeme{}, errorAt(start+1, "the quote %c is not closed", quote)
}

func (s *scanner) operator() (lexeme, *Error) {
	column := s.at + 1
	for _, known := range symbols {
		n := len(known)
		if s.at+n <= len(s.text) && string(s.text[s.at:s.at+n]) == known {
			s.at += n
			return lexeme{kind: symbol, text: known, column: column}, nil
		}
	}
	switch c := s.text[s.at]; c {
	case '=':
		return lexeme{}, errorAt(column, "a single = is no operator: write ==")
	case '&', '|':
		return lexeme{}, errorAt(column, "a single %c is no operator: write %c%c", c, c, c)
	default:
		return lexeme{}, errorAt(column, "%q cannot stand here", c)
	}
}
