package guard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// file is one Go file of the project.
type file struct {
	*ast.File
	path string // from the project's root, with slashes
	pkg  string // the folder that it is in; "." for main.go
	set  *token.FileSet
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f file) lines() int { return f.set.File(f.FileStart).LineCount() }

// length is the number of lines from the first of a node to its last.
func (f file) length(n ast.Node) int {
	return f.set.Position(n.End()).Line - f.set.Position(n.Pos()).Line + 1
}

// at is a place in the file, as editors open it.
func (f file) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.set.Position(n.Pos()).Line)
}

// imports are the paths that the file imports; those of ours are without the module's name.
func (f file) imports() (ours, others []string) {
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if folder, ok := strings.CutPrefix(path, "pinion/"); ok {
			ours = append(ours, folder)
		} else {
			others = append(others, path)
		}
	}
	return ours, others
}

// project is every Go file below the project's root, read once for all tests.
var project = sync.OnceValues(readProject)

func readProject() (files []file, err error) {
	const root = "../.."
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root:
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		name := filepath.ToSlash(relative)
		files = append(files, file{tree, name, filepath.ToSlash(filepath.Dir(name)), set})
		return err
	})
	return files, err
}

// eachFile visits every Go file of the project.
func eachFile(t *testing.T, visit func(file)) {
	t.Helper()
	files, err := project()
	if err != nil || len(files) < 20 {
		t.Fatalf("read %d files of the project: %v", len(files), err)
	}
	for _, f := range files {
		visit(f)
	}
}
