package guard

import (
	"go/ast"
	"go/constant"
	"go/token"
	"regexp"
	"testing"
)

// TestPatternsOfPackagesAreValidAndLazy keeps the start of a process, which is each command of pinion, from compiling the expressions of all
// packages. That they compile is found here instead, not at their first use.
func TestPatternsOfPackagesAreValidAndLazy(t *testing.T) {
	checked := 0
	eachFile(t, func(f file) {
		directory := directoryOf(f.path)
		if _, isDirectory := directories[directory]; !isDirectory || f.isTest() || f.pkg == "raftfsm/lazyregexp" {
			return
		}
		for _, declared := range f.Decls {
			variables, is := declared.(*ast.GenDecl)
			if !is || variables.Tok != token.VAR {
				continue
			}
			ast.Inspect(variables, func(n ast.Node) bool {
				call, is := n.(*ast.CallExpr)
				if !is {
					return true
				}
				called, is := call.Fun.(*ast.SelectorExpr)
				if is && isSelector(called, "regexp", "MustCompile") {
					t.Errorf("%s compiles an expression at the start of the process: use lazyregexp.New", f.at(call))
				}
				if is && isSelector(called, "lazyregexp", "New") {
					checked++
					if _, err := regexp.Compile(text(call.Args[0])); err != nil {
						t.Errorf("%s: %v", f.at(call), err)
					}
				}
				return true
			})
		}
	})
	if checked == 0 {
		t.Error("no expression was found")
	}
}

// text is a text that is written down, in parts or whole; anything else is an expression that does not compile.
func text(written ast.Expr) string {
	switch e := written.(type) {
	case *ast.BasicLit:
		return constant.StringVal(constant.MakeFromLiteral(e.Value, e.Kind, 0))
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	}
	return "(not written down"
}
