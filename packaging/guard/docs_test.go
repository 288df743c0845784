package guard

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
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

// Bounds of a DESIGN.md, which somebody new reads in five minutes.
const (
	maxDesignLines   = 150
	maxDesignWords   = 1200
	maxDesignColumns = 140 // of a line that is no row of a table
)

// TestEveryDesignPageIsShort measures each DESIGN.md; every directory that the project began with has one.
func TestEveryDesignPageIsShort(t *testing.T) {
	pages, found := designPages(t), violations{}
	for _, directory := range []string{"api", "server", "node", "raftfsm", "gpu", "packaging"} {
		if !slices.Contains(pages, directory+"/DESIGN.md") {
			t.Errorf("%s has no DESIGN.md", directory)
		}
	}
	for _, page := range pages {
		raw, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Fatal(err)
		}
		if excess := excessOf(string(raw)); excess != "" {
			found[page] = page + " " + excess + ": say it shorter, or move what is of a package below to that package"
		}
	}
	found.check(t)
}

// excessOf says which bound the text of a DESIGN.md exceeds; empty when it keeps all.
func excessOf(text string) string {
	if lines := strings.Count(text, "\n"); lines > maxDesignLines {
		return fmt.Sprintf("has %d lines, %d are allowed", lines, maxDesignLines)
	}
	if words := len(strings.Fields(text)); words > maxDesignWords {
		return fmt.Sprintf("has %d words, %d are allowed", words, maxDesignWords)
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		columns := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
		if !strings.HasPrefix(line, "|") && columns > maxDesignColumns {
			return fmt.Sprintf("has %d columns in line %d, %d are allowed outside tables", columns, number, maxDesignColumns)
		}
	}
	return ""
}

// designPages are the DESIGN.md of the project, from its root.
func designPages(t *testing.T) (pages []string) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.Name() == "DESIGN.md":
			relative, err := filepath.Rel(root, path)
			pages = append(pages, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
