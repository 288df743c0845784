package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// malformedExpressions are expressions that cannot be read, with what is said of them and of which column.
var malformedExpressions = []struct {
	expression string
	column     int
	message    string
}{
	{"", 1, "the expression is empty"},
	{"  ", 1, "the expression is empty"},
	{"attribute:a", 12, "expected an operator here, not the end: == != > >= < <= exists !exists in !in =~ !~"},
	{"attribute:a ==", 15, "expected a value after == here, not the end"},
	{"attribute:a = b", 13, "a single = is no operator: write =="},
	{"attribute:a == b & attribute:c == d", 18, "a single & is no operator: write &&"},
	{"attribute:a == b AND attribute:c == d", 18, `expected and, or, or the end here, not "AND"`},
	{"attribute:a == b c", 18, `expected and, or, or the end here, not "c": a value with spaces stands in quotes`},
	{"attribute: a == b", 11, "attribute: needs the name of an attribute, without a blank"},
	{"attribute:a:b == c", 12, `names of attributes have letters, digits and _ . / \ - only, no ':'`},
	{"atribute:a == b", 1, `"atribute:a" is not a subject: a subject is attribute:NAME, task:group,`},
	{"ecs.instance-type == p2.xlarge", 1, `"ecs.instance-type" is not a subject`},
	{"'agentVersion' == 1", 1, `expected a subject here, not "agentVersion"`},
	{"attribute:a == b and", 21, "expected a subject here, not the end"},
	{"attribute:a like b", 13, `expected an operator here, not "like"`},
	{"attribute:a ! b", 13, `expected !in or !exists here, not ! and "b"`},
	{"(attribute:a == b", 18, "expected ) for the ( in column 1, not the end"},
	{"attribute:a == b)", 17, `expected and, or, or the end here, not ")"`},
	{"()", 2, `expected a subject here, not ")"`},
	{"attribute:a == 'b", 16, "the quote ' is not closed"},
	{"attribute:ü == 'b", 11, "names of attributes have"},
	{"attribute:a == üü x", 19, `not "x"`}, // characters, not bytes
	{"attribute:a == [b]", 16, `expected a value after == here, not "["`},
	{"attribute:a in b", 16, `in needs a list such as [a, b], not "b"`},
	{"attribute:a in []", 17, `expected a value of the list here, not "]"`},
	{"attribute:a in [b", 18, "expected , or ] here, not the end"},
	{"attribute:a in [b c]", 19, `expected , or ] here, not "c"`},
	{"attribute:a in [b,]", 19, `expected a value of the list here, not "]"`},
	{"attribute:a exists b", 20, `expected and, or, or the end here, not "b"`},
	{"task:group > a", 12, "> cannot be used with task:group: possible are == != in !in =~ !~ exists !exists"},
	{"agentVersion exists", 14, "exists cannot be used with agentVersion: possible are == != > >= < <="},
	{"agentVersion == new", 17, `"new" is not a version such as 1.2.3`},
	{"agentConnected == yes", 19, `agentConnected is true or false, not "yes"`},
	{"registeredAt > 2018-6-18", 16, `"2018-6-18" is not a date such as 2018-06-18,`},
	{"runningTasksCount == 1.5", 22, `"1.5" is not a whole number`},
	{"attribute:a == b\x00", 17, `'\x00' cannot stand here`},
	{"attribute:a == " + strings.Repeat("x", 1986), 2001, "the expression has 2001 characters, at most 2000 are allowed"},

	// RE2 is not Java's.
	{"attribute:a =~ '(?!g2).*'", 17, "the pattern has the look-around (?!, which is not there: Pinion's patterns are RE2"},
	{"attribute:a =~ 'x(?=y)'", 18, "the pattern has the look-around (?="},
	{"attribute:a =~ '(?<=y)x'", 17, "the pattern has the look-around (?<="},
	{"attribute:a =~ '(?>y)x'", 17, "the pattern has the atomic group (?>"},
	{`attribute:a =~ '(a)\1'`, 20, `the pattern has the back-reference \1`},
	{"attribute:a =~ 'a*+'", 18, "the pattern has the possessive *+"},
	{"attribute:a =~ '[a-z&&[b]]'", 21, "the pattern has &&, the intersection of character classes"},
	{"attribute:a =~ *g2", 16, "the pattern has * with nothing to repeat"},
	{"attribute:a =~ 'a)(b'", 17, "the pattern cannot be used: unexpected ): a)(b"},
	{"attribute:a =~ 'a{2000}'", 18, "the pattern cannot be used: invalid repeat count: {2000}"},
	{"attribute:a =~ g2[", 18, "the pattern cannot be used: missing closing ]: ["},
	{"attribute:a =~ '(a|b|cd){999}'", 16, "the pattern costs too much: it repeats too much"},
	{"attribute:a =~ 'x{600}' or attribute:a !~ 'x{600}'", 43, "the pattern costs too much: it repeats too much"},
	{"attribute:a =~ '(?i)" + strings.Repeat(`[B-\x{1e942}]`, 100) + "'", 16, "the pattern costs too much: its classes of characters hold 12518400"},
	{"attribute:a =~ a(b)", 17, `expected and, or, or the end here, not "("`},
}

func TestErrorsPointAtTheColumn(t *testing.T) {
	for _, c := range malformedExpressions {
		t.Run(c.expression[:min(40, len(c.expression))], func(t *testing.T) {
			_, err := Parse(c.expression)
			wrong, ok := errors.AsType[*Error](err)
			if !ok || wrong.Column != c.column || !strings.Contains(wrong.Message, c.message) {
				t.Errorf("%v\nwant column %d: %s", err, c.column, c.message)
			}
			if ok && wrong.Error() != fmt.Sprintf("column %d: %s", wrong.Column, wrong.Message) {
				t.Error(wrong)
			}
		})
	}
}

func TestDepthIsBoundedByTheLength(t *testing.T) {
	const deep = (MaxLength - len("attribute:a exists")) / 2
	e := parse(t, strings.Repeat("(", deep)+"attribute:a exists"+strings.Repeat(")", deep))
	if e.String() != "attribute:a exists" {
		t.Error(e)
	}
	parse(t, strings.Repeat("!", MaxLength-len("attribute:a exists"))+"attribute:a exists")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"attribute:ecs.instance-type == p2.xlarge", "not(task:group == database)", "attribute:a in ['x', \"y\"] || agentVersion>1.2",
		"registeredAt >= 2018-06-18T22:28:28+00:00 and !(runningTasksCount != 3)", "attribute:a =~ '(?!g2).*'", "attribute:a !exists",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		e, err := Parse(expression)
		if err != nil {
			wrong, ok := errors.AsType[*Error](err)
			if !ok || wrong.Column < 1 || wrong.Column > MaxLength+1 {
				t.Fatalf("%q: %v", expression, err)
			}
			return
		}
		e.Match(rack7())
		e.Why(rack7())
		printed := e.String()
		if len([]rune(printed)) > MaxLength {
			return // the plainest form may be the longer one
		}
		if again, err := Parse(printed); err != nil || again.String() != printed || shape(again.root) != shape(e.root) {
			t.Fatalf("%q is printed as %q: %v", expression, printed, err)
		}
	})
}
