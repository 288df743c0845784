package guard

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryExportedNameHasADocComment looks at types, functions, methods of exported types, constants and variables.
// A comment on a group counts for its members.
func TestEveryExportedNameHasADocComment(t *testing.T) {
	eachFile(t, func(f file) {
		if f.isTest() || f.Name.Name == "main" {
			return
		}
		for _, declaration := range f.Decls {
			for _, name := range undocumented(declaration) {
				t.Errorf("%s: %s has no doc comment", f.path, name)
			}
		}
	})
}

func undocumented(declaration ast.Decl) []string {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && receiverIsExported(d) && d.Name.Name != "Error" {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		if d.Doc != nil || d.Tok == token.IMPORT {
			return nil
		}
		var names []string
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(spec)...)
		}
		return names
	}
	return nil
}

func undocumentedSpec(spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc == nil {
			return []string{s.Name.Name}
		}
	case *ast.ValueSpec:
		var names []string
		for _, name := range s.Names {
			if name.IsExported() && s.Doc == nil && s.Comment == nil {
				names = append(names, name.Name)
			}
		}
		return names
	}
	return nil
}

// receiverIsExported is false for methods that satisfy an interface on a type nobody outside can name.
func receiverIsExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && name.IsExported()
}

func TestEveryDirectoryHasANoteOfAtMost150Lines(t *testing.T) {
	for _, directory := range []string{"api", "server", "node", "raftfsm", "gpu", "packaging"} {
		raw, err := os.ReadFile(filepath.Join("../..", directory, "DESIGN.md"))
		if err != nil {
			t.Error(err)
		} else if lines := strings.Count(string(raw), "\n"); lines > 150 {
			t.Errorf("%s/DESIGN.md has %d lines, 150 are allowed", directory, lines)
		}
	}
}
