package guard

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxMethods = 30
	maxFields  = 20
)

// largeTypes are allowed more, each for a reason; five at most.
var largeTypes = map[string]string{
	"raftfsm.View": "the one way to read the state: two or three readers for each noun, and no fields beside the tables",
	"raftfsm.tx":   "a View that commands write to: the readers of View count as its own",

	"api/client.transport": "the public Go client: its users have one type, Client, with a method for each request, and all of them need the connection alone",
}

// documents are the packages whose documents may have more fields than maxFields, for the reason given: somebody else's schema has them, or they stand
// in logs and answers as they are. A document is a struct each of whose fields has a JSON name.
var documents = map[string]string{
	"api/ecs/types":   "inputs and outputs of ECS: their members are ECS's",
	"api/cloudwatch":  "inputs and outputs of CloudWatch: their members are AWS's",
	"api/rest":        "answers of Pinion's own API: a host and a GPU are shown as one object each",
	"api/client":      "the same answers, as the Go client reads them",
	"raftfsm/spec":    "what ECS has users describe and the log records: hosts, tasks and their definitions; no field moves in it",
	"raftfsm/service": "a service of ECS, as the log records it; no field moves in it",
}

// TestTypesAreSmall counts the methods and fields of each type. Methods that come with an embedded type of ours count: a type
// does not become smaller by being cut into parts that are one again.
func TestTypesAreSmall(t *testing.T) {
	types, found, large := declaredTypes(t), violations{}, map[string]bool{}
	for name := range types {
		methods, fields := types.methods(name, nil), types[name].fields
		pkg := name[:strings.LastIndexByte(name, '.')]
		if _, may := documents[pkg]; may && types[name].document && fields > maxFields {
			large[pkg], fields = true, 0
		}
		if _, allowed := largeTypes[name]; allowed {
			continue
		}
		if len(methods) > maxMethods || fields > maxFields {
			found[name] = fmt.Sprintf("%s: %s has %d methods and %d fields, %d and %d are allowed: give a part of them to a type of its own", types[name].at, name, len(methods), fields, maxMethods, maxFields)
		}
	}
	found.check(t)
	if len(largeTypes) > 5 {
		t.Errorf("%d types are allowed more methods or fields than others, five may be", len(largeTypes))
	}
	for pkg := range documents {
		if !large[pkg] {
			t.Errorf("no document of %s has more than %d fields any more: take the package off documents", pkg, maxFields)
		}
	}
	for name := range largeTypes {
		if _, there := types[name]; !there {
			t.Errorf("there is no type %s any more: take it off largeTypes", name)
		}
	}
}

// TestTypesAreSmallWithTheirWrappers counts the methods of types that hold nothing but a pointer to a type of their own package as methods of
// that type: they reach all that it has, and it is as large as before it was cut into them. A wrapper takes the two or three things that it
// uses, which are then its fields.
func TestTypesAreSmallWithTheirWrappers(t *testing.T) {
	types, found := declaredTypes(t), violations{}
	for name := range types {
		wrappers := types.wrappersOf(name, nil)
		methods := len(types.methods(name, nil))
		for _, wrapper := range wrappers {
			methods += len(types[wrapper].own)
		}
		if _, allowed := largeTypes[name]; !allowed && len(wrappers) > 0 && methods > maxMethods {
			found[name] = fmt.Sprintf("%s: %s has %d methods with those of %s, which hold a pointer to it and nothing else; %d are allowed: give each what it uses of it", types[name].at, name, methods, strings.Join(wrappers, ", "), maxMethods)
		}
	}
	found.check(t)
}

// wrappersOf are the types that hold nothing but a pointer to a type, and those that hold nothing but one to them.
func (s typeSet) wrappersOf(name string, seen []string) (wrappers []string) {
	for wrapper, d := range s {
		if d.wraps == name && !slices.Contains(seen, wrapper) {
			wrappers = append(append(wrappers, wrapper), s.wrappersOf(wrapper, append(seen, name, wrapper))...)
		}
	}
	slices.Sort(wrappers)
	return wrappers
}

// declared is a type of the project.
type declared struct {
	at       string
	own      []string // methods, of an interface too
	embedded []string // types of ours, as "folder.Name"
	wraps    string   // the type of its package that its only field points to or embeds
	fields   int
	document bool // all fields have JSON names
}

// typeSet is the types of the project by "folder.Name".
type typeSet map[string]*declared

// methods are the names of a type's own methods and of those that embedding gives it.
func (s typeSet) methods(name string, seen []string) map[string]bool {
	names := map[string]bool{}
	if s[name] == nil || slices.Contains(seen, name) {
		return names
	}
	for _, method := range s[name].own {
		names[method] = true
	}
	for _, inner := range s[name].embedded {
		for method := range s.methods(inner, append(seen, name)) {
			names[method] = true
		}
	}
	return names
}

// declaredTypes are the project's types beside those of tests.
func declaredTypes(t *testing.T) typeSet {
	types := typeSet{}
	of := func(name string) *declared {
		if types[name] == nil {
			types[name] = &declared{}
		}
		return types[name]
	}
	eachFile(t, func(f file) {
		if f.isTest() {
			return
		}
		for _, declaration := range f.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					to := of(f.pkg + "." + receiver(d))
					to.own = append(to.own, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						of(f.pkg+"."+s.Name.Name).fill(f, s)
					}
				}
			}
		}
	})
	return types
}

// fill counts what a declaration has.
func (d *declared) fill(f file, spec *ast.TypeSpec) {
	d.at = f.at(spec)
	switch shape := spec.Type.(type) {
	case *ast.StructType:
		d.wraps = f.wrapped(shape)
		d.document = true
		for _, field := range shape.Fields.List {
			d.document = d.document && (len(field.Names) == 0 || field.Tag != nil && strings.Contains(field.Tag.Value, `json:"`))
			d.fields += max(1, len(field.Names))
			if len(field.Names) == 0 {
				d.embedded = append(d.embedded, f.ourType(field.Type)...)
			}
		}
	case *ast.InterfaceType:
		for _, method := range shape.Methods.List {
			for _, name := range method.Names {
				d.own = append(d.own, name.Name)
			}
			if len(method.Names) == 0 {
				d.embedded = append(d.embedded, f.ourType(method.Type)...)
			}
		}
	}
}

// wrapped is the type that a struct holds a pointer to, or embeds, if it holds nothing else and the type is of the same package.
func (f file) wrapped(shape *ast.StructType) string {
	if len(shape.Fields.List) != 1 || len(shape.Fields.List[0].Names) > 1 {
		return ""
	}
	field := shape.Fields.List[0]
	inner := typeName(field.Type)
	if _, points := field.Type.(*ast.StarExpr); inner == "" || strings.Contains(inner, ".") || !points && len(field.Names) > 0 {
		return ""
	}
	return f.pkg + "." + inner
}

// ourType is a type of the project as "folder.Name", none for those of others.
func (f file) ourType(e ast.Expr) []string {
	pkg, name, qualified := strings.Cut(typeName(e), ".")
	if !qualified {
		return []string{f.pkg + "." + pkg}
	}
	for _, spec := range f.Imports {
		folder, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "pinion/")
		if ours && (spec.Name != nil && spec.Name.Name == pkg || spec.Name == nil && path.Base(folder) == pkg) {
			return []string{folder + "." + name}
		}
	}
	return nil
}
