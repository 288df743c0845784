package guard

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const glossaryFile = "../../docs/glossary.md"

// TestRetiredWordsAreNotUsed holds the two lists at the end of the glossary: a retired word is refused as a word of any
// declared identifier or file name, a retired name as the whole name of a declared type, function, method, field,
// constant or package variable. Uses of other modules' names are not looked at.
func TestRetiredWordsAreNotUsed(t *testing.T) {
	words, names := retired(t, "## Retired words"), retired(t, "## Retired names")
	eachFile(t, func(f file) {
		path := f.path
		check := func(what, name string) {
			for _, word := range identifierWords(name) {
				if slices.Contains(words, word) {
					t.Errorf("%s: %s %s uses the retired word %q; docs/glossary.md has the term to use", path, what, name, word)
				}
			}
		}
		check("file", strings.TrimSuffix(filepath.Base(path), ".go"))
		check("package", f.File.Name.Name)
		for _, d := range declarations(f.File) {
			check(d.kind, d.name)
			if d.kind != localVariable && slices.Contains(names, d.name) {
				t.Errorf("%s: %s %s is a retired name; docs/glossary.md has the term to use", path, d.kind, d.name)
			}
		}
	})
}

// retiredCell is the first cell of a row of the lists.
var retiredCell = regexp.MustCompile("^\\| (`[^|]+`) \\|")

// retired reads the first column of the table under a heading of the glossary.
func retired(t *testing.T, heading string) []string {
	t.Helper()
	raw, err := os.ReadFile(glossaryFile)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(raw), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", glossaryFile, heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var cells []string
	for line := range strings.Lines(section) {
		if cell := retiredCell.FindStringSubmatch(line); cell != nil {
			for _, name := range strings.Split(cell[1], ",") {
				cells = append(cells, strings.Trim(name, " `"))
			}
		}
	}
	if len(cells) == 0 {
		t.Fatalf("%s lists nothing under %q", glossaryFile, heading)
	}
	return cells
}

const localVariable = "variable"

// declaration is one name that a file declares.
type declaration struct{ kind, name string }

// declarations lists every name that a file declares, local variables and parameters included.
func declarations(file *ast.File) []declaration {
	var all []declaration
	add := func(kind string, names ...*ast.Ident) {
		for _, name := range names {
			if name != nil && name.Name != "_" {
				all = append(all, declaration{kind, name.Name})
			}
		}
	}
	for _, d := range file.Decls {
		if general, ok := d.(*ast.GenDecl); ok {
			for _, spec := range general.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok {
					add("package variable", value.Names...)
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add("function", n.Name)
		case *ast.TypeSpec:
			add("type", n.Name)
		case *ast.StructType:
			for _, field := range n.Fields.List {
				add("field", field.Names...)
			}
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				add("method", method.Names...)
			}
		case *ast.Field:
			add(localVariable, n.Names...)
		case *ast.ValueSpec:
			add(localVariable, n.Names...)
		case *ast.AssignStmt:
			if n.Tok.String() == ":=" {
				for _, left := range n.Lhs {
					if name, ok := left.(*ast.Ident); ok {
						add(localVariable, name)
					}
				}
			}
		case *ast.RangeStmt:
			for _, variable := range []ast.Expr{n.Key, n.Value} {
				if name, ok := variable.(*ast.Ident); ok {
					add(localVariable, name)
				}
			}
		}
		return true
	})
	return all
}

// identifierWords splits an identifier or a file name at underscores and case changes: "newHTTPClient" is new, http, client.
func identifierWords(name string) []string {
	var words []string
	runes, begin := []rune(name), 0
	for i := 1; i <= len(runes); i++ {
		if i < len(runes) && !wordBoundary(runes, i) {
			continue
		}
		if word := strings.ToLower(strings.Trim(string(runes[begin:i]), "_-.0123456789")); word != "" {
			words = append(words, word)
		}
		begin = i
	}
	return words
}

// wordBoundary reports whether a new word begins at runes[i].
func wordBoundary(runes []rune, i int) bool {
	before, here := runes[i-1], runes[i]
	switch {
	case before == '_' || before == '-' || before == '.':
		return true
	case unicode.IsUpper(here) && !unicode.IsUpper(before):
		return true
	}
	return unicode.IsUpper(here) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

func TestIdentifiersAreSplitIntoWords(t *testing.T) {
	for name, want := range map[string][]string{
		"newHTTPClient": {"new", "http", "client"}, "host_change_test": {"host", "change", "test"}, "GPUsInUse": {"gp", "us", "in", "use"},
		"RunTask": {"run", "task"}, "x": {"x"}, "level1": {"level"},
	} {
		if got := identifierWords(name); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
