package guard

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// The table that says how often a promise is tried: promise, tests, flags of make test, of make soak, and of what was tried at last,
	// what that found.
	countTable = regexp.MustCompile("(?m)^\\| promise \\| test \\| `make test` \\| `make soak` \\| tried \\| found \\|\\n\\|.*\\|\\n((?:\\|.*\\|\\n?)+)")
	// A flag with its value: "-kills 200".
	countFlag = regexp.MustCompile(`-[a-z-]+ [0-9][0-9a-z]*`)
	// The recipe of make soak.
	soakRecipe = regexp.MustCompile(`(?m)^soak:.*\n((?:\t.*\n)+)`)
)

// TestThePromisesAreTriedAsOftenAsSaid holds the table of docs/security.md to the flags' defaults, which `make test` uses, and to the
// Makefile, where `make soak` sets them. What was tried is said by the same flags.
func TestThePromisesAreTriedAsOftenAsSaid(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	recipe := soakRecipe.FindSubmatch(makefile)
	table := countTable.FindStringSubmatch(readPage(t, "security.md"))
	if recipe == nil || table == nil {
		t.Fatal("the table of docs/security.md or the target soak of the Makefile is not there")
	}
	usual := usualFlags(t)
	soaked := countFlag.FindAllString(string(recipe[1]), -1)
	for _, flag := range soaked {
		if name, _, _ := strings.Cut(flag, " "); slices.Contains(strings.Fields(flagNames(usual)), name) && !strings.Contains(table[1], flag) {
			t.Errorf("make soak has %s, and no row of docs/security.md", flag)
		}
	}
	for row := range strings.Lines(table[1]) {
		columns := strings.Split(strings.TrimSuffix(row, " |\n"), " | ")
		if len(columns) != 6 {
			t.Errorf("docs/security.md: a row has %d columns: %s", len(columns), row)
			continue
		}
		inTest, inSoak, tried := countFlag.FindAllString(columns[2], -1), countFlag.FindAllString(columns[3], -1), countFlag.FindAllString(columns[4], -1)
		if len(inTest) == 0 || flagNames(inTest) != flagNames(inSoak) {
			t.Errorf("docs/security.md: a row lacks a count: %s", row)
		}
		if untried := columns[4] == "-"; untried != (columns[5] == "-") || !untried && flagNames(tried) != flagNames(inSoak) {
			t.Errorf("docs/security.md: a row says what was found and not how often it was tried, or the other way round: %s", row)
		}
		for _, flag := range inTest {
			if !slices.Contains(usual, flag) {
				t.Errorf("docs/security.md says that make test has %s: the flag has another default", flag)
			}
		}
		for _, flag := range inSoak {
			if !slices.Contains(soaked, flag) {
				t.Errorf("docs/security.md says that make soak has %s: the Makefile has not", flag)
			}
		}
	}
}

// flagNames are the names of flags with their values.
func flagNames(flags []string) (names string) {
	for _, flag := range flags {
		name, _, _ := strings.Cut(flag, " ")
		names += name + " "
	}
	return names
}

// usualFlags are the flags of the project's tests that are numbers or times, with their defaults: "-kills 2", "-away 5s".
func usualFlags(t *testing.T) (all []string) {
	eachFile(t, func(f file) {
		if !f.isTest() {
			return
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 3 {
				return true
			}
			if called, ok := call.Fun.(*ast.SelectorExpr); ok && isSelector(called, "flag", "Int", "Duration") {
				if name, ok := call.Args[0].(*ast.BasicLit); ok {
					all = append(all, "-"+strings.Trim(name.Value, `"`)+" "+flagValue(call.Args[1]))
				}
			}
			return true
		})
	})
	return all
}

// flagValue is a default as it is given on a command line: 2000 for 2_000, 5s for 5*time.Second.
func flagValue(n ast.Expr) string {
	switch value := n.(type) {
	case *ast.BasicLit:
		return strings.ReplaceAll(value.Value, "_", "")
	case *ast.BinaryExpr:
		return flagValue(value.X) + flagValue(value.Y)
	case *ast.SelectorExpr:
		return map[string]string{"Millisecond": "ms", "Second": "s", "Minute": "m", "Hour": "h"}[value.Sel.Name]
	}
	return ""
}
