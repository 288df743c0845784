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

// rooms are what a host is put together from.
var rooms = []string{"api", "server", "node", "raftfsm", "gpu"}

// mayImport says for each place what of ours it may know beside its own room; the longest name that fits a file counts.
// The rooms meet in packaging/host. main.go hands that to the command line, and the benches measure rooms one by one.
var mayImport = map[string][]string{
	"main.go":         {"packaging/host", "api/cli", "gpu/sim"},
	"api":             {"raftfsm"},
	"server":          {"raftfsm", "gpu"},
	"node":            {"raftfsm", "gpu"},
	"raftfsm":         {"gpu"},
	"gpu":             {},
	"packaging":       {},
	"packaging/host":  rooms,
	"packaging/bench": rooms,
}

// testsMayImport are the rooms that tests stand on top of.
var testsMayImport = []string{"raftfsm", "gpu"}

// pure rooms compute and nothing else: no clock, chance, goroutine, network or log line.
var pure = []string{"raftfsm", "raftfsm/spec", "raftfsm/query", "raftfsm/compact", "server/schedule", "server/schedule/pack", "server/schedule/queue", "server/schedule/batch", "server/schedule/tournament"}

var impure = []string{"math/rand", "math/rand/v2", "crypto/rand", "net", "net/http", "log", "log/slog", "os/exec"}

func TestRoomsImportOnlyWhatTheTableAllows(t *testing.T) {
	eachFile(t, func(path string, file *ast.File) {
		allowed, known := allowedIn(path)
		if !known {
			t.Errorf("%s belongs to no room; the rooms are %v and packaging", path, rooms)
		}
		for _, imported := range imports(file) {
			other, ours := strings.CutPrefix(imported, "pinion/")
			if ours && !slices.ContainsFunc(allowed, func(place string) bool { return within(place, other) }) {
				t.Errorf("%s imports %s: it may import only %v", path, imported, allowed)
			}
		}
	})
}

// allowedIn is what the file may import of ours: its own room and what the table says. Tests of packaging, which drive the
// whole program, may look into every room.
func allowedIn(path string) (allowed []string, known bool) {
	place := ""
	for name := range mayImport {
		if within(name, path) && len(name) > len(place) {
			place = name
		}
	}
	allowed = append(slices.Clone(mayImport[place]), roomOf(path))
	if strings.HasSuffix(path, "_test.go") {
		allowed = append(allowed, testsMayImport...)
		if roomOf(path) == "packaging" {
			allowed = append(allowed, rooms...)
		}
	}
	return allowed, place != ""
}

func within(place, path string) bool { return path == place || strings.HasPrefix(path, place+"/") }

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
	room, _, _ := strings.Cut(path, "/")
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
		visit(filepath.ToSlash(relative), file)
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
