// Package model reads the service model of Amazon ECS out of the Go SDK's sources: operations, shapes, enums, and which
// members are required. The SDK is generated from the Smithy model and go.mod pins its version, so the model is the same
// on every machine. Only the generator and tests use this package.
package model

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the Go module that has the model.
const Module = "github.com/aws/aws-sdk-go-v2/service/ecs"

// Kinds of shapes, as Smithy calls them.
const (
	Structure = "Structure"
	Union     = "Union"
	List      = "List"
	Map       = "Map"
	Enum      = "Enum"
	String    = "String"
	Integer   = "Integer"
	Long      = "Long"
	Double    = "Double"
	Boolean   = "Boolean"
	Timestamp = "Timestamp"
)

// Model is the service model.
type Model struct {
	Operations map[string]Operation
	Shapes     map[string]*Shape // by name
}

// Operation names the structures of an operation.
type Operation struct {
	Input, Output string
}

// Shape is a type of the model.
type Shape struct {
	Name    string
	Kind    string
	Members []Member // of a structure, in the model's order; "member" of a list, "key" and "value" of a map
	Values  []string // of an enum
	Error   bool     // a structure that an operation fails with
}

// Member is a member of a structure.
type Member struct {
	Name     string
	Shape    string
	Required bool
}

// Member finds a member by name, nil when there is none.
func (s *Shape) Member(name string) *Member {
	at := slices.IndexFunc(s.Members, func(m Member) bool { return m.Name == name })
	if at < 0 {
		return nil
	}
	return &s.Members[at]
}

// Item is the shape of a list's items.
func (m *Model) Item(list *Shape) *Shape { return m.Shapes[list.Member("member").Shape] }

// Load reads the model of the SDK that go.mod requires.
func Load() (*Model, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", Module).Output()
	if err != nil {
		return nil, fmt.Errorf("find the module %s: %w", Module, err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return nil, fmt.Errorf("the module %s is not in the module cache: go mod download %s", Module, Module)
	}
	r := &reader{model: &Model{Operations: map[string]Operation{}, Shapes: map[string]*Shape{}}, byVariable: map[string]*Shape{}}
	for _, read := range []struct {
		pattern string
		file    func(*ast.File)
	}{
		{"schemas/schemas.go", r.readShapes},
		{"schemas/schemas.go", r.readMembers},
		{"types/enums.go", r.readEnums},
		{"types/types.go", r.readRequired},
		{"api_op_*.go", r.readOperation},
	} {
		if err := r.eachFile(filepath.Join(dir, read.pattern), read.file); err != nil {
			return nil, err
		}
	}
	return r.model, r.check()
}

// reader collects a model from the syntax trees of the SDK's generated files.
type reader struct {
	model      *Model
	byVariable map[string]*Shape // by the name of the variable in package schemas
}

func (r *reader) eachFile(pattern string, read func(*ast.File)) error {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no file %s in the SDK: %v", pattern, err)
	}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		read(file)
	}
	return nil
}

// check refuses a model that is empty somewhere: then the SDK's generator writes other sources than this reader knows.
func (r *reader) check() error {
	m := r.model
	if len(m.Operations) == 0 || len(m.Shapes) == 0 {
		return fmt.Errorf("no operations or no shapes found: the layout of %s has changed", Module)
	}
	for name, o := range m.Operations {
		if m.Shapes[o.Input] == nil || m.Shapes[o.Output] == nil {
			return fmt.Errorf("operation %s has no input %q or no output %q", name, o.Input, o.Output)
		}
	}
	for _, s := range m.Shapes {
		if s.Kind == Enum && len(s.Values) == 0 {
			return fmt.Errorf("enum %s has no values", s.Name)
		}
	}
	return nil
}

// readShapes reads: var X = smithy.NewSchema(smithy.ShapeID{Name: "X"}, smithy.ShapeTypeStructure, 2, traits...)
func (r *reader) readShapes(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		call, ok := spec.Values[0].(*ast.CallExpr)
		if !ok || calls(call) != "smithy.NewSchema" {
			return true
		}
		s := &Shape{Kind: strings.TrimPrefix(lastName(call.Args[1]), "ShapeType")}
		for _, part := range call.Args[0].(*ast.CompositeLit).Elts {
			if field := part.(*ast.KeyValueExpr); lastName(field.Key) == "Name" {
				s.Name = text(field.Value)
			}
		}
		for _, trait := range call.Args[3:] {
			s.Error = s.Error || lastName(trait) == "Error"
		}
		r.byVariable[spec.Names[0].Name] = s
		if s.Kind != "Operation" && s.Kind != "Service" {
			r.model.Shapes[s.Name] = s
		}
		return true
	})
}

// readMembers reads: X_m = X.AddMember("m", Target)
func (r *reader) readMembers(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || lastName(call.Fun) != "AddMember" {
			return true
		}
		owner, target := r.byVariable[lastName(call.Fun.(*ast.SelectorExpr).X)], r.byVariable[lastName(call.Args[1])]
		if owner != nil && target != nil { // the names of an enum's values have no shape
			owner.Members = append(owner.Members, Member{Name: text(call.Args[0]), Shape: target.Name})
		}
		return true
	})
}

// readEnums reads: func (LaunchType) Values() []LaunchType { return []LaunchType{"EC2"} }
func (r *reader) readEnums(file *ast.File) {
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || f.Name.Name != "Values" {
			continue
		}
		enum := r.model.Shapes[lastName(f.Recv.List[0].Type)]
		for _, value := range f.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.CompositeLit).Elts {
			enum.Values = append(enum.Values, text(value))
		}
	}
}

// readRequired marks the members whose fields in Go are documented as required.
func (r *reader) readRequired(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			r.require(spec, r.model.Shapes[spec.Name.Name])
		}
		return true
	})
}

// readOperation reads: smithy.NewOperationSchema(schemas.RunTask, schemas.RunTaskRequest, schemas.RunTaskResponse),
// and which members of the input are required.
func (r *reader) readOperation(file *ast.File) {
	var name string
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && calls(call) == "smithy.NewOperationSchema" {
			name = lastName(call.Args[0])
			r.model.Operations[name] = Operation{Input: lastName(call.Args[1]), Output: lastName(call.Args[2])}
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == name+"Input" {
			r.require(spec, r.model.Shapes[r.model.Operations[name].Input])
		}
		return true
	})
}

func (r *reader) require(spec *ast.TypeSpec, s *Shape) {
	structure, ok := spec.Type.(*ast.StructType)
	if !ok || s == nil {
		return
	}
	for _, field := range structure.Fields.List {
		if len(field.Names) != 1 || !strings.Contains(field.Doc.Text(), "This member is required.") {
			continue
		}
		for i := range s.Members {
			if strings.EqualFold(s.Members[i].Name, field.Names[0].Name) {
				s.Members[i].Required = true
			}
		}
	}
}

// calls is the qualified name of the function that is called, "smithy.NewSchema".
func calls(call *ast.CallExpr) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	return lastName(selector.X) + "." + selector.Sel.Name
}

// lastName is the last identifier of an expression: of &traits.Error{} it is Error.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.UnaryExpr:
		return lastName(e.X)
	case *ast.CompositeLit:
		return lastName(e.Type)
	}
	return ""
}

func text(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return s
}
