package guard

import (
	"errors"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reference is a name in backticks that begins with a folder of the project: `server/scheduler`, `api/ecs/run.go`,
// `server/scheduler.Scheduler.Run`.
var reference = regexp.MustCompile("`((?:api|gpu|node|packaging|raftfsm|server)(?:/[a-z0-9_-]+)*)(/[a-z0-9_]+\\.go|(?:\\.[A-Za-z]\\w*){1,2})?`")

// TestDocumentationNamesWhatExists looks up every package, file, type and function that the pages for developers name.
func TestDocumentationNamesWhatExists(t *testing.T) {
	index := newDeclarationIndex(t)
	for _, page := range []string{"adding-a-container-feature.md", "adding-a-noun.md", "adding-an-operation.md", "glossary.md", "life-of-a-task.md", "where-to-change.md"} {
		found := reference.FindAllStringSubmatch(readPage(t, page), -1)
		if len(found) == 0 {
			t.Errorf("docs/%s names nothing of the project", page)
		}
		for _, r := range found {
			if folder, name := r[1], r[2]; !index.has(folder, name) {
				t.Errorf("docs/%s names `%s%s`, which does not exist", page, folder, name)
			}
		}
	}
}

// The names in backticks that a DESIGN.md is held to: a Go file, a folder from the root, a declaration with its package, a
// member with its type.
var (
	designFile        = regexp.MustCompile("`((?:[a-z0-9_-]+/)*[a-z0-9_]+\\.go)`")
	designFolder      = regexp.MustCompile("`((?:api|gpu|node|packaging|raftfsm|server)(?:/[a-z0-9_-]+)+)/?`")
	designDeclaration = regexp.MustCompile("`((?:[a-z][a-z0-9]*/)*[a-z][a-z0-9]*)((?:\\.[A-Z]\\w*){1,2})(?:\\(\\))?`")
	designMember      = regexp.MustCompile("`([A-Z]\\w*\\.[A-Z]\\w*)(?:\\(\\))?`")
)

// foreignFiles are files of containerd and runc that node/containerd/DESIGN.md names.
var foreignFiles = []string{"core/snapshots/storage/bolt.go", "core/runtime/v2/shim_load.go", "core/metadata/gc.go",
	"process/io.go", "process/exec.go", "init_linux.go"}

// TestDesignPagesNameWhatExists looks up the files, folders and declarations that each DESIGN.md names. A file is below
// the page's folder or named from the root; a package is named by the end of its path. A package that is not of the project
// is passed over.
func TestDesignPagesNameWhatExists(t *testing.T) {
	index, pages := newDeclarationIndex(t), 0
	for _, folder := range slices.Sorted(maps.Keys(index.folders)) {
		raw, err := os.ReadFile("../../" + folder + "/DESIGN.md")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, name := range index.missingIn(folder, string(raw)) {
			t.Errorf("%s/DESIGN.md names `%s`, which does not exist", folder, name)
		}
	}
	if pages < 25 {
		t.Errorf("%d DESIGN.md were read", pages)
	}
}

// missingIn are the names of a folder's page that nothing in the project has.
func (i *declarationIndex) missingIn(folder, page string) (missing []string) {
	for _, found := range designFile.FindAllStringSubmatch(page, -1) {
		name := found[1]
		if !i.names[name] && !i.hasBelow(folder, name) && !slices.Contains(foreignFiles, name) {
			missing = append(missing, name)
		}
	}
	for _, found := range designFolder.FindAllStringSubmatch(page, -1) {
		if !i.folders[found[1]] {
			missing = append(missing, found[1])
		}
	}
	for _, found := range designDeclaration.FindAllStringSubmatch(page, -1) {
		if packages := i.packagesNamed(found[1]); len(packages) > 0 &&
			!slices.ContainsFunc(packages, func(pkg string) bool { return i.names[pkg+found[2]] }) {
			missing = append(missing, found[1]+found[2])
		}
	}
	for _, found := range designMember.FindAllStringSubmatch(page, -1) {
		if !i.hasMember(found[1]) {
			missing = append(missing, found[1])
		}
	}
	return missing
}

// hasBelow reports whether a path below the folder ends with the name.
func (i *declarationIndex) hasBelow(folder, name string) bool {
	for path := range i.names {
		if strings.HasPrefix(path, folder+"/") && strings.HasSuffix(path, "/"+name) {
			return true
		}
	}
	return false
}

// packagesNamed are the folders whose path ends with the name.
func (i *declarationIndex) packagesNamed(name string) (folders []string) {
	for folder := range i.folders {
		if folder == name || strings.HasSuffix(folder, "/"+name) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// hasMember reports whether some package declares the member of a type.
func (i *declarationIndex) hasMember(name string) bool {
	for declared := range i.names {
		if strings.HasSuffix(declared, "."+name) {
			return true
		}
	}
	return false
}

// callChain is two references with an arrow between them.
var callChain = regexp.MustCompile("`([^`]+)`\\s+→\\s+`([^`]+)`")

// TestTheLifeOfATaskFollowsTheCode holds each arrow of docs/life-of-a-task.md: the function before it uses the name of the
// one behind it.
func TestTheLifeOfATaskFollowsTheCode(t *testing.T) {
	index := newDeclarationIndex(t)
	page, arrows := readPage(t, "life-of-a-task.md"), 0
	for {
		arrow := callChain.FindStringSubmatchIndex(page)
		if arrow == nil {
			break
		}
		caller, callee := page[arrow[2]:arrow[3]], page[arrow[4]:arrow[5]]
		page = page[arrow[4]-1:] // the callee may be the caller of the next arrow
		arrows++
		name := callee[strings.LastIndex(callee, ".")+1:]
		bodies := index.bodies[caller]
		if len(bodies) == 0 {
			t.Errorf("%s → %s: %s is no function with a body", caller, callee, caller)
		} else if !slices.ContainsFunc(bodies, func(f *ast.FuncDecl) bool { return mentions(f, name) }) {
			t.Errorf("%s → %s: %s does not use %s", caller, callee, caller, name)
		}
	}
	if arrows < 30 {
		t.Errorf("the page has %d arrows: it no longer follows a task", arrows)
	}
}

// mentions reports whether the body of a function uses a name.
func mentions(f *ast.FuncDecl, name string) (found bool) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			found = true
		}
		return !found
	})
	return found
}

// declarationIndex is the packages, files and declarations of the project, without those of tests.
type declarationIndex struct {
	folders, names map[string]bool
	bodies         map[string][]*ast.FuncDecl // by reference; builds for several systems have several
}

func newDeclarationIndex(t *testing.T) *declarationIndex {
	index := &declarationIndex{folders: map[string]bool{}, names: map[string]bool{}, bodies: map[string][]*ast.FuncDecl{}}
	eachFile(t, func(f file) {
		index.names[f.path] = true
		if f.isTest() {
			return
		}
		for folder := f.pkg; folder != "."; {
			index.folders[folder] = true
			parent := strings.LastIndex(folder, "/")
			if parent < 0 {
				break
			}
			folder = folder[:parent]
		}
		for _, d := range f.Decls {
			index.add(f.pkg, d)
		}
	})
	return index
}

func (i *declarationIndex) add(pkg string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := pkg + "." + d.Name.Name
		if d.Recv != nil {
			name = pkg + "." + receiverName(d) + "." + d.Name.Name
		}
		i.names[name] = true
		if d.Body != nil {
			i.bodies[name] = append(i.bodies[name], d)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			i.addSpec(pkg, spec)
		}
	}
}

func (i *declarationIndex) addSpec(pkg string, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			i.names[pkg+"."+name.Name] = true
		}
	case *ast.TypeSpec:
		i.names[pkg+"."+spec.Name.Name] = true
		switch members := spec.Type.(type) {
		case *ast.InterfaceType:
			i.addMembers(pkg+"."+spec.Name.Name, members.Methods)
		case *ast.StructType:
			i.addMembers(pkg+"."+spec.Name.Name, members.Fields)
		}
	}
}

// addMembers adds the methods of an interface or the fields of a struct.
func (i *declarationIndex) addMembers(of string, members *ast.FieldList) {
	for _, member := range members.List {
		for _, name := range member.Names {
			i.names[of+"."+name.Name] = true
		}
	}
}

// receiverName is the type of a method, without pointer and type parameters.
func receiverName(d *ast.FuncDecl) string {
	receiver := d.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.Name
		default:
			return ""
		}
	}
}

// has reports whether a folder, and in it a file or a declaration, exists.
func (i *declarationIndex) has(folder, name string) bool {
	if name == "" {
		return i.folders[folder]
	}
	return i.names[folder+name]
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
