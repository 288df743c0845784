package guard

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// A row of a table of promises: a sentence, and the tests that hold it.
var (
	promiseTable = regexp.MustCompile(`(?m)^\| promise \| test \|\n\|.*\|\n((?:\|.*\|\n?)+)`)
	testName     = regexp.MustCompile("`(Test\\w+)`")
)

// testFunctions are the names of the functions in the project's tests.
func testFunctions(t *testing.T) map[string]bool {
	tests := map[string]bool{}
	eachFile(t, func(f file) {
		for _, declaration := range f.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && f.isTest() && function.Recv == nil {
				tests[function.Name.Name] = true
			}
		}
	})
	return tests
}

// TestEveryPromiseHasItsTest looks up the tests that the tables of docs/security.md name: every sentence has one, and it exists.
func TestEveryPromiseHasItsTest(t *testing.T) {
	tests, promises := testFunctions(t), 0
	for _, table := range promiseTable.FindAllStringSubmatch(readPage(t, "security.md"), -1) {
		for row := range strings.Lines(table[1]) {
			promises++
			named := testName.FindAllStringSubmatch(row, -1)
			if len(named) == 0 {
				t.Errorf("docs/security.md promises without a test: %s", row)
			}
			for _, name := range named {
				if !tests[name[1]] {
					t.Errorf("docs/security.md names %s, which does not exist", name[1])
				}
			}
		}
	}
	if promises < 30 {
		t.Errorf("%d promises were read", promises)
	}
}
