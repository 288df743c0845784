package re2

import (
	"errors"
	"regexp/syntax"
	"strings"
	"testing"
)

// counted are expressions of every operator, with the instructions that Go's compiler makes of them.
var counted = []string{
	"", "a", "abc", "(?i)abc", "[a-z]", ".", "(?s).", "^a$", `\Aa\z`, `\ba\B`, `\pL`, "(a)", "(?:a|bc|[de])", "a|", "a*", "a+", "a?", "a*?", "(a*)*", "(a?)+", "(|a)*", "a{3}", "a{0}",
	"a{0,0}", "a{2,5}", "a{,5}", "a{0,}", "a{1,}", "a{3,}", "(ab|c){4,7}", "((a{3}){3}){3}", "(a*){5}", "(?:(?:a?){9}){9}", `[^\x00-\x{10FFFF}]`, "(a|b|cd){99}",
}

// compiled is the number of instructions of an expression that is small enough to be made.
func compiled(t *testing.T, expression string) int {
	t.Helper()
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		t.Fatal(err)
	}
	return len(program.Inst)
}

func TestInstructionsAreCountedBeforeTheyAreMade(t *testing.T) {
	for _, expression := range counted {
		made := compiled(t, expression)
		cost, err := Check(expression, Cost{10_000, MaxClasses})
		got := cost.Instructions
		if err != nil || got < made || got > 2*made {
			t.Errorf("%q: counted %d instructions of %d: %v", expression, got, made, err)
		}
		if _, err := Check(expression, cost); err != nil {
			t.Errorf("%q: %v", expression, err)
		}
		if _, err := Check(expression, cost.Minus(Cost{Instructions: 1})); !isCost(err) {
			t.Errorf("%q: one instruction beyond the limit: %v", expression, err)
		}
	}
}

func isCost(err error) bool {
	_, is := errors.AsType[*CostError](err)
	return is
}

// What is refused costs no more than its text: these stand for up to three million instructions each.
func TestAnExpressionThatRepeatsTooMuchIsNotMade(t *testing.T) {
	for _, expression := range []string{strings.Repeat("(a|b|cd){999}", 140), "(.{500}){2}", "((a{10}){10}){10}", strings.Repeat("a{1000}", 400)} {
		if allocated := testing.AllocsPerRun(1, func() {
			if _, err := Check(expression, Cost{900, MaxClasses}); !isCost(err) {
				t.Errorf("%.40s: %v", expression, err)
			}
		}); allocated > 20*float64(len(expression)) {
			t.Errorf("%.40s: %.0f allocations", expression, allocated)
		}
	}
	if _, err := Check("(", Cost{10, MaxClasses}); isCost(err) || err == nil {
		t.Error(err)
	}
}

// With (?i) the parser looks at each character of a range: these took it a second and more.
func TestClassesAreBoundedBeforeTheyAreParsed(t *testing.T) {
	for expression, good := range map[string]bool{
		"(?i)[а-яё]+": true, `(?i)[\x{430}-\x{44f}]`: true, "[一-龥]": true, "[😀-🙏]{3}": true, `[\w\-\.]`: true, strings.Repeat(`\p{L}`, 50): true, `[^\x00-\x{10FFFF}]`: true,
		`\Q[B-\E` + "𞥂": true, strings.Repeat("[a-z]", 200): true,
		"(?i)" + strings.Repeat(`[B-\x{1e942}]`, 140): false, "(?i)[" + strings.Repeat(`B-𞥂`, 400) + "]": false, "[" + strings.Repeat(`\pL`, 600) + "]": false,
		"(?i)" + strings.Repeat(`[\x42-\x{000001e942}]`, 90): false, `(?i)\Q\\E` + strings.Repeat(`[\\-\x{1e942}]`, 2): false, strings.Repeat(`\PL|`, 100): false,
	} {
		if _, err := Check(expression, Cost{1000, MaxClasses}); (err == nil) != good || !good && !isCost(err) {
			t.Errorf("%.40s: %v", expression, err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, expression := range counted {
		f.Add(expression)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		if got, err := Check(expression, Cost{5000, MaxClasses}); err == nil && got.Instructions < compiled(t, expression) {
			t.Errorf("%q: counted %d instructions of %d", expression, got.Instructions, compiled(t, expression))
		}
	})
}
