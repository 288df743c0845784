package guard

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestTestsWaitForWhatHappens refuses time.Sleep and time.After in tests: too short a wait fails on a busy machine, a long one
// is paid on every run. A test waits for a channel, a context's end or a condition. Inside a synctest bubble, where the clock
// stands until all goroutines wait, both are exact and take no time.
func TestTestsWaitForWhatHappens(t *testing.T) {
	found := violations{}
	for _, files := range testFiles(t) {
		bubble := newBubble(files)
		for _, f := range files {
			bubble.each(f.File, func(n ast.Node, _ string, inside bool) {
				if s, ok := n.(*ast.SelectorExpr); ok && !inside && isSelector(s, "time", "Sleep", "After") {
					found[f.path] = f.at(s) + " uses time." + s.Sel.Name + " outside synctest.Test: wait for what it waits for"
				}
			})
		}
	}
	found.check(t)
}

// testFiles are the project's test files by their folder.
func testFiles(t *testing.T) map[string][]file {
	byFolder := map[string][]file{}
	eachFile(t, func(f file) {
		if f.isTest() {
			byFolder[f.pkg] = append(byFolder[f.pkg], f)
		}
	})
	return byFolder
}

// isSelector reports whether s is pkg.NAME with one of the names.
func isSelector(s *ast.SelectorExpr, pkg string, names ...string) bool {
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && slices.Contains(names, s.Sel.Name)
}

// bubble knows which declarations of one folder's tests only run inside synctest.Test. It goes by names, so a method runs
// outside when another type's of that name does, unless its own type is named inside only.
type bubble struct {
	starters map[string]bool            // functions that call synctest.Test; what they are handed runs inside
	inside   map[string]bool            // by key: see keys
	named    map[string]map[string]bool // keys of the declarations that have a name, which several methods may share
}

func newBubble(files []file) bubble {
	b := bubble{starters: map[string]bool{}, inside: map[string]bool{}, named: map[string]map[string]bool{}}
	for _, f := range files {
		for _, d := range f.Decls {
			for _, key := range keys(d) {
				name := key[strings.LastIndex(key, ".")+1:]
				b.inside[key] = !isTestFunction(name)
				if b.named[name] == nil {
					b.named[name] = map[string]bool{}
				}
				b.named[name][key] = true
			}
			function, ok := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				if s, is := n.(*ast.SelectorExpr); ok && is && isSelector(s, "synctest", "Test") {
					b.starters[function.Name.Name] = true
				}
				return true
			})
		}
	}
	// All are taken to be inside until something outside names them, which then is outside itself.
	for changed := true; changed; {
		changed = b.spread(files)
	}
	return b
}

// spread notes what is named outside, and what is named nowhere.
func (b bubble) spread(files []file) (changed bool) {
	used, outside := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		b.each(f.File, func(n ast.Node, in string, inside bool) {
			id, ok := n.(*ast.Ident)
			if !ok {
				return
			}
			for key := range b.named[id.Name] {
				if key != in {
					used[key], outside[key] = true, outside[key] || !inside
				}
			}
		})
	}
	for key := range maps.Clone(b.inside) {
		of, _, isMethod := strings.Cut(key, ".")
		if b.inside[key] && !(isMethod && b.inside[of]) && (outside[key] || !used[key]) {
			b.inside[key], changed = false, true
		}
	}
	return changed
}

// each visits the nodes of a file's declarations with the declaration's key, and tells whether they run inside.
func (b bubble) each(f *ast.File, visit func(n ast.Node, in string, inside bool)) {
	for _, d := range f.Decls {
		of := keys(d)
		if len(of) == 0 {
			continue
		}
		inside := !slices.ContainsFunc(of, func(key string) bool { return !b.inside[key] })
		if function, ok := d.(*ast.FuncDecl); ok {
			if function.Body != nil {
				b.walk(function.Body, of[0], inside, visit)
			}
			continue
		}
		b.walk(d, of[0], inside, visit)
	}
}

func (b bubble) walk(root ast.Node, in string, inside bool, visit func(n ast.Node, in string, inside bool)) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.FuncType, *ast.TypeSpec: // to name a type there makes no value of it
			return false
		}
		visit(n, in, inside)
		call, ok := n.(*ast.CallExpr)
		if !ok || inside || !b.startsBubble(call) {
			return true
		}
		b.walk(call.Fun, in, inside, visit)
		for _, argument := range call.Args {
			_, isFunction := argument.(*ast.FuncLit)
			b.walk(argument, in, isFunction, visit)
		}
		return false
	})
}

// startsBubble reports whether what a call is handed runs inside.
func (b bubble) startsBubble(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return isSelector(f, "synctest", "Test") || b.starters[f.Sel.Name]
	case *ast.Ident:
		return b.starters[f.Name]
	}
	return false
}

// isTestFunction reports whether go test calls it.
func isTestFunction(name string) bool {
	return name == "init" || slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz", "Example"}, func(kind string) bool { return strings.HasPrefix(name, kind) })
}

// keys are the names of what a declaration declares, "Type.Method" for a method; none for imports.
func keys(d ast.Decl) (all []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return []string{strings.TrimPrefix(receiver(d)+"."+d.Name.Name, ".")}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				all = append(all, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					all = append(all, name.Name)
				}
			}
		}
	}
	return all
}
