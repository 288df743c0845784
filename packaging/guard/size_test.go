package guard

import (
	"cmp"
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

const (
	maxPackageFiles  = 40 // beside tests
	maxPackageLines  = 4000
	maxFileLines     = 300
	maxFunctionLines = 60
)

// TestPackagesAreSmall counts the files and lines of each package beside its tests.
func TestPackagesAreSmall(t *testing.T) {
	files, lines, found := map[string]int{}, map[string]int{}, violations{}
	eachFile(t, func(f file) {
		if !f.isTest() {
			files[f.pkg]++
			lines[f.pkg] += f.lines()
		}
	})
	for pkg := range files {
		if files[pkg] > maxPackageFiles || lines[pkg] > maxPackageLines {
			found[pkg] = fmt.Sprintf("%s has %d files and %d lines beside tests, %d and %d are allowed: split it by nouns", pkg, files[pkg], lines[pkg], maxPackageFiles, maxPackageLines)
		}
	}
	found.check(t)
}

// TestFilesAreShort counts the lines of each file, tests too. What a program has written is not for reading.
func TestFilesAreShort(t *testing.T) {
	found := violations{}
	eachFile(t, func(f file) {
		if f.lines() > maxFileLines && !ast.IsGenerated(f.File) {
			found[f.path] = fmt.Sprintf("%s has %d lines, %d are allowed", f.path, f.lines(), maxFileLines)
		}
	})
	found.check(t)
}

// TestFunctionsAreShort counts the lines of each function, those of tests too, with the closures in it.
func TestFunctionsAreShort(t *testing.T) {
	found := violations{}
	eachFile(t, func(f file) {
		for _, declaration := range f.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if n := f.length(declaration); ok && n > maxFunctionLines && !ast.IsGenerated(f.File) {
				name := strings.TrimPrefix(f.pkg+"."+receiver(function)+"."+function.Name.Name, "..")
				found[strings.ReplaceAll(name, "..", ".")] = fmt.Sprintf("%s: %s has %d lines, %d are allowed", f.at(function), function.Name.Name, n, maxFunctionLines)
			}
		}
	})
	found.check(t)
}

// receiver is the name of the type that a method belongs to, empty for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	return cmp.Or(typeName(f.Recv.List[0].Type), "?")
}

// typeName is the name of a type behind pointers and type arguments, "pkg.Name" for another package's; empty for a type
// without a name.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			return pkg.Name + "." + e.Sel.Name
		}
	}
	return ""
}
