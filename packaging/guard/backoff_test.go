package guard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// pauseWords are what a variable is called that has the time between two tries.
var pauseWords = []string{"pause", "wait", "delay", "backoff", "retry", "sleep", "interval", "check", "poll"}

// TestOnlyBackoffDoublesPauses holds the project to one exponential back-off, packaging/backoff: elsewhere no variable becomes twice what it is,
// and none is shifted, whose name says that it is a pause.
func TestOnlyBackoffDoublesPauses(t *testing.T) {
	eachFile(t, func(f file) {
		if f.isTest() || f.pkg == "packaging/backoff" {
			return
		}
		for _, n := range doubledPauses(f.File) {
			t.Errorf("%s doubles a pause: packaging/backoff has the pauses of tries", f.at(n))
		}
	})
}

// doubledPauses are the shifts of pauses in a file, and the assignments of twice a pause to itself.
func doubledPauses(file *ast.File) (found []ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.SHL && isPause(n.X) {
				found = append(found, n)
			}
		case *ast.AssignStmt:
			if slices.ContainsFunc(n.Lhs, func(left ast.Expr) bool { return isPause(left) && doubles(n, left) }) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// doubles reports whether an assignment doubles, or shifts, one of its variables.
func doubles(n *ast.AssignStmt, variable ast.Expr) (found bool) {
	if n.Tok == token.MUL_ASSIGN || n.Tok == token.SHL_ASSIGN {
		return true
	}
	same := func(e ast.Expr) bool { return types.ExprString(e) == types.ExprString(variable) }
	for _, right := range n.Rhs {
		ast.Inspect(right, func(n ast.Node) bool {
			if b, ok := n.(*ast.BinaryExpr); ok && (b.Op == token.MUL || b.Op == token.ADD) {
				found = found || same(b.X) && (isTwo(b.Y) || same(b.Y)) || same(b.Y) && isTwo(b.X)
			}
			return true
		})
	}
	return found
}

func isTwo(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	return ok && literal.Value == "2"
}

// isPause reports whether an expression is a variable or a field with one of pauseWords in its name.
func isPause(e ast.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = e.Sel.Name
	}
	return slices.ContainsFunc(identifierWords(name), func(word string) bool { return slices.Contains(pauseWords, word) })
}

func TestADoubledPauseIsSeen(t *testing.T) {
	for statement, want := range map[string]int{
		"pause *= 2":                                        1,
		"pause = min(2*pause, max)":                         1,
		"pause = min(max(pause*2, lowest), max)":            1,
		"n.next, n.pause = at, min(2*n.pause, max)":         1,
		"retryWait += 1; retryWait = retryWait + retryWait": 1,
		"return minBackoff << failed":                       1,
		"for wait := min; ; wait = 2 * wait { }":            1,
		"size *= 2":                                         0,
		"wait = 2 * interval":                               0,
		"wait = max(wait, 2*interval)":                      0,
		"return 1 << n":                                     0,
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\nfunc f() any { "+statement+" }", 0)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		if found := doubledPauses(parsed); len(found) != want {
			t.Errorf("%s: %d doubled pauses, want %d", statement, len(found), want)
		}
	}
}
