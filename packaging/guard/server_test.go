package guard

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// The list of packages in server/DESIGN.md: a line for each floor's packages, two blanks or more before what they are for.
	packageList = regexp.MustCompile("(?s)## The packages\n```\n(.*?)```")
	// A table whose first column is of this name: its rows.
	loopTable = regexp.MustCompile(`(?m)^\| loop of a term \| .*\n\|.*\n((?:\|.*\n)+)`)
	typeTable = regexp.MustCompile(`(?m)^\| type \| .*\n\|.*\n((?:\|.*\n)+)`)
	// A name in backticks.
	codeName = regexp.MustCompile("`([^`]+)`")
)

// The list of packages in server/DESIGN.md has each folder of server, and no other.
func TestTheDesignOfTheServerListsItsPackages(t *testing.T) {
	folders := map[string]bool{}
	eachFile(t, func(f file) {
		if parent, name := path.Split(f.pkg); parent == "server/" {
			folders[name] = true
		}
	})
	list := packageList.FindStringSubmatch(readDesign(t, "server"))
	if list == nil {
		t.Fatal("server/DESIGN.md has no list of packages")
	}
	var listed []string
	for line := range strings.Lines(list[1]) {
		if indented, names := strings.HasPrefix(line, "  "), strings.TrimSpace(line); indented {
			names, _, _ = strings.Cut(names, "  ")
			listed = append(listed, strings.Fields(names)...)
		}
	}
	same(t, "server/DESIGN.md, the list of packages", listed, slices.Collect(maps.Keys(folders)))
}

// The table of loops in server/DESIGN.md has each loop that a leader term starts, and no other.
func TestTheDesignOfTheServerListsTheLoopsOfATerm(t *testing.T) {
	table := loopTable.FindStringSubmatch(readDesign(t, "server"))
	if table == nil {
		t.Fatal("server/DESIGN.md has no table of the loops of a term")
	}
	same(t, "server/DESIGN.md, the loops of a term", firstColumn(table[1]), termLoops(t))
}

// The table of server/orchestrator/DESIGN.md has each reconciler, which is a type with a Loop.
func TestTheDesignOfTheOrchestratorListsItsReconcilers(t *testing.T) {
	var reconcilers []string
	eachFile(t, func(f file) {
		for _, declaration := range f.Decls {
			if d, ok := declaration.(*ast.FuncDecl); ok && f.pkg == "server/orchestrator" && d.Recv != nil && d.Name.Name == "Loop" {
				reconcilers = append(reconcilers, receiver(d))
			}
		}
	})
	table := typeTable.FindStringSubmatch(readDesign(t, "server/orchestrator"))
	if table == nil {
		t.Fatal("server/orchestrator/DESIGN.md has no table of types")
	}
	same(t, "server/orchestrator/DESIGN.md, the reconcilers", firstColumn(table[1]), reconcilers)
}

// firstColumn is the names in backticks in the first column of rows.
func firstColumn(rows string) (names []string) {
	for row := range strings.Lines(rows) {
		for _, name := range codeName.FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
			names = append(names, name[1])
		}
	}
	return names
}

// same complains of what a page lists and is not there, and the other way round.
func same(t *testing.T, page string, listed, there []string) {
	t.Helper()
	if len(there) == 0 {
		t.Fatalf("%s: nothing is found in the sources", page)
	}
	for _, name := range listed {
		if !slices.Contains(there, name) {
			t.Errorf("%s: it has %s, which does not exist", page, name)
		}
	}
	for _, name := range there {
		if !slices.Contains(listed, name) {
			t.Errorf("%s: it lacks %s", page, name)
		}
	}
}

func readDesign(t *testing.T, folder string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + folder + "/DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// termLoops are the loops that Server.startTerm starts, as "package.Type" for a Loop and with the method for others: what it gives the
// context of the term.
func termLoops(t *testing.T) (loops []string) {
	scope := serverScope{types: map[string]string{}}
	var start *ast.FuncDecl
	eachFile(t, func(f file) {
		if f.pkg != "server" || f.isTest() {
			return
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.TypeSpec:
				if fields, ok := d.Type.(*ast.StructType); ok && d.Name.Name == "Server" {
					scope.addFields(fields)
				}
			case *ast.FuncDecl:
				if d.Recv != nil && receiver(d) == "Server" && d.Type.Results != nil {
					scope.types["s."+d.Name.Name+"()"] = typeName(d.Type.Results.List[0].Type)
				}
				if d.Name.Name == "startTerm" {
					start = d
				}
			}
			return true
		})
	})
	if start == nil {
		t.Fatal("there is no Server.startTerm")
	}
	scope.types["s"] = "Server"
	ast.Inspect(start.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			scope.addVariables(n)
		case *ast.CallExpr:
			method, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || len(n.Args) == 0 || nameOf(n.Args[0]) != "ctx" {
				break
			}
			name := scope.types[nameOf(method.X)]
			if name == "" {
				t.Errorf("the type of %s, of which startTerm calls %s, is not known here", nameOf(method.X), method.Sel.Name)
			}
			if method.Sel.Name != "Loop" {
				name += "." + method.Sel.Name
			}
			loops = append(loops, name)
		}
		return true
	})
	return loops
}

// serverScope has the types of expressions of startTerm: its variables, the fields of the Server, and what its methods return.
type serverScope struct{ types map[string]string }

func (s serverScope) addFields(fields *ast.StructType) {
	for _, field := range fields.Fields.List {
		for _, name := range field.Names {
			s.types["s."+name.Name] = typeName(field.Type)
		}
	}
}

// addVariables takes variables that are made as &package.Type{...}, or by package.NewType(...).
func (s serverScope) addVariables(a *ast.AssignStmt) {
	for i, made := range a.Rhs {
		switch made := made.(type) {
		case *ast.UnaryExpr:
			if of, ok := made.X.(*ast.CompositeLit); ok {
				s.types[nameOf(a.Lhs[i])] = typeName(of.Type)
			}
		case *ast.CallExpr:
			s.types[nameOf(a.Lhs[i])] = strings.Replace(nameOf(made.Fun), ".New", ".", 1)
		}
	}
}

// nameOf is a name, a selection or a call of one as it is written: "s.prefetcher()".
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return nameOf(e.Fun) + "()"
	}
	return ""
}
