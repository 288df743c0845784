package guard

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// declaration is one name that a file declares; json is the JSON name of a field that has one.
type declaration struct{ kind, name, json string }

const localVariable = "variable"

// declarations are every name that a file declares, local variables, parameters and labels included. A package variable is in it twice, as a
// localVariable too.
type declarations []declaration

// names are those that a file declares, its own and its package's first.
func (f file) names() declarations {
	all := declarations{{kind: "file", name: strings.TrimSuffix(filepath.Base(f.path), ".go")}, {kind: "package", name: f.Name.Name}}
	for _, d := range f.Decls {
		if general, ok := d.(*ast.GenDecl); ok {
			for _, spec := range general.Specs {
				if value, ok := spec.(*ast.ValueSpec); ok {
					all.add("package variable", value.Names...)
				}
			}
		}
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		all.addNode(n)
		return true
	})
	return all
}

func (all *declarations) add(kind string, names ...*ast.Ident) {
	for _, name := range names {
		if name != nil && name.Name != "_" {
			*all = append(*all, declaration{kind: kind, name: name.Name})
		}
	}
}

// addNode adds what one node declares; what is inside it are nodes of their own.
func (all *declarations) addNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.ImportSpec:
		all.add("import", n.Name)
	case *ast.FuncDecl:
		all.add("function", n.Name)
		all.addParameters(n.Recv)
	case *ast.TypeSpec:
		all.add("type", n.Name)
		all.addParameters(n.TypeParams)
	case *ast.StructType:
		for _, field := range n.Fields.List {
			from := len(*all)
			all.add("field", field.Names...)
			for i := range (*all)[from:] {
				(*all)[from+i].json = jsonName(field)
			}
		}
	case *ast.InterfaceType:
		for _, method := range n.Methods.List {
			all.add("method", method.Names...)
		}
	case *ast.FuncType:
		all.addParameters(n.TypeParams, n.Params, n.Results)
	case *ast.LabeledStmt:
		all.add("label", n.Label)
	case *ast.ValueSpec:
		all.add(localVariable, n.Names...)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			all.addVariables(n.Lhs...)
		}
	case *ast.RangeStmt:
		all.addVariables(n.Key, n.Value)
	}
}

func (all *declarations) addParameters(lists ...*ast.FieldList) {
	for _, list := range lists {
		if list != nil {
			for _, field := range list.List {
				all.add(localVariable, field.Names...)
			}
		}
	}
}

func (all *declarations) addVariables(left ...ast.Expr) {
	for _, e := range left {
		if name, ok := e.(*ast.Ident); ok {
			all.add(localVariable, name)
		}
	}
}

func jsonName(field *ast.Field) string {
	if field.Tag == nil {
		return ""
	}
	tag, _ := strconv.Unquote(field.Tag.Value)
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name
}

// isTestFunction reports whether a function is one that `go test` runs.
func (d declaration) isTestFunction() bool {
	return d.kind == "function" && slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz", "Example"}, func(kind string) bool { return strings.HasPrefix(d.name, kind) })
}
