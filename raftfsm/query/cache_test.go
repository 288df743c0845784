package query

import (
	"fmt"
	"testing"
)

func TestAnExpressionThatIsUsedIsParsedOnce(t *testing.T) {
	var c Cache
	parse := func(expression string) *Expr {
		e, err := c.Parse(expression)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	const used = "attribute:a =~ 'x{900}'"
	first := parse(used)
	largest := 0
	for i := range 1000 {
		parse(fmt.Sprintf("attribute:b%d =~ 'x{900}'", i))
		if parse(used) != first {
			t.Fatalf("after %d other expressions the one that is used was parsed again", i+1)
		}
		largest = max(largest, len(c.recent)+len(c.older))
	}
	if want := 2 * maxCached / 900; largest > want || largest < want/2 {
		t.Errorf("the cache has held %d expressions at once, want %d at most", largest, want)
	}
	if parse("attribute:b0 =~ 'x{900}'").String() != "attribute:b0 =~ x{900}" {
		t.Error("an expression that was forgotten is not parsed again")
	}
	if _, err := c.Parse("("); err == nil {
		t.Error("an expression that cannot be parsed is kept")
	}
}
