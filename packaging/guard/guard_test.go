package guard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is the table of DESIGN section 3: for each room, the rooms it may know. A room knows itself.
var mayImport = map[string][]string{
	"api":       {"raftfsm"},
	"server":    {"raftfsm", "gpu"},
	"node":      {"raftfsm", "gpu"},
	"raftfsm":   {"gpu"},
	"gpu":       {},
	"packaging": {"gpu"},
}

// testsMayImport are the rooms that tests stand on top of: end-to-end tests and benches drive the whole program.
var testsMayImport = []string{"raftfsm", "gpu"}

// pure rooms compute and nothing else: no clock, chance, goroutine, network or log line.
var pure = []string{"raftfsm", "raftfsm/query", "server/schedule", "server/schedule/pack", "server/schedule/queue", "server/schedule/batch", "server/schedule/tournament"}

var impure = []string{"math/rand", "math/rand/v2", "crypto/rand", "net", "net/http", "log", "log/slog", "os/exec"}

func TestRoomsImportOnlyWhatTheTableAllows(t *testing.T) {
	eachFile(t, func(path string, file *ast.File) {
		room := roomOf(path)
		allowed, known := mayImport[room]
		if !known {
			return // main.go knows every room
		}
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "packaging/") {
			allowed = append(slices.Clone(allowed), testsMayImport...)
		}
		if strings.HasPrefix(path, "packaging/") && !strings.HasPrefix(path, "packaging/bundle") {
			allowed = append(slices.Clone(allowed), "node", "server", "api")
		}
		for _, imported := range imports(file) {
			other, ours := strings.CutPrefix(imported, "pinion/")
			if ours && roomOf(other) != room && !slices.Contains(allowed, roomOf(other)) {
				t.Errorf("%s imports %s: %s may import only %v", path, imported, room, allowed)
			}
		}
	})
}

func TestPureRoomsHaveNoClockChanceOrGoroutine(t *testing.T) {
	eachFile(t, func(path string, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") || !slices.Contains(pure, filepath.ToSlash(filepath.Dir(path))) {
			return
		}
		for _, imported := range imports(file) {
			if slices.Contains(impure, imported) {
				t.Errorf("%s imports %s", path, imported)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", path)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "Sleep", "Tick", "NewTimer", "NewTicker"}, n.Sel.Name) {
					t.Errorf("%s uses time.%s", path, n.Sel.Name)
				}
			}
			return true
		})
	})
}

// TestTestsDoNotSleep spares packages whose tests run in a synctest bubble, where sleeping takes no time.
func TestTestsDoNotSleep(t *testing.T) {
	sleeping, simulated := map[string]string{}, map[string]bool{}
	eachFile(t, func(path string, file *ast.File) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		if slices.Contains(imports(file), "testing/synctest") {
			simulated[filepath.Dir(path)] = true
		}
		if sleeps(file) {
			sleeping[filepath.Dir(path)] = path
		}
	})
	for dir, path := range sleeping {
		if !simulated[dir] {
			t.Errorf("%s sleeps; wait for what it waits for", path)
		}
	}
}

func sleeps(file *ast.File) bool {
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok && selector.Sel.Name == "Sleep" {
			x, ok := selector.X.(*ast.Ident)
			found = found || ok && x.Name == "time"
		}
		return true
	})
	return found
}

func roomOf(path string) string {
	room, _, _ := strings.Cut(filepath.ToSlash(path), "/")
	return room
}

func imports(file *ast.File) []string {
	var paths []string
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, path)
	}
	return paths
}

// eachFile visits every Go file of the project; paths are relative to its root.
func eachFile(t *testing.T, visit func(path string, file *ast.File)) {
	t.Helper()
	const root = "../.."
	seen := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || (entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root) {
			return errOrSkip(err)
		}
		if entry.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		relative, _ := filepath.Rel(root, path)
		seen++
		visit(relative, file)
		return nil
	})
	if err != nil || seen < 20 {
		t.Fatalf("saw %d files of the project: %v", seen, err)
	}
}

func errOrSkip(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}
