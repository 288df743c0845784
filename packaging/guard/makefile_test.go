package guard

import (
	"bytes"
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// A target of the Makefile that runs one test: its name, and the package.
	makefileTest = regexp.MustCompile(`-(?:fuzz|run) '\^(\w+)\$\$' \./(\S+)`)
	// A package that the Makefile names, without the "/..." behind it.
	makefilePackage = regexp.MustCompile(`[\s=]\./([\w/]+)`)
)

// TestTheMakefileNamesWhatIsThere keeps `make fuzz` and the others from running nothing after a test or a package has moved, and
// has every fuzz target run.
func TestTheMakefileNamesWhatIsThere(t *testing.T) {
	raw, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{} // by folder
	eachFile(t, func(f file) {
		for _, declaration := range f.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && f.isTest() && function.Recv == nil {
				tests[f.pkg] = append(tests[f.pkg], function.Name.Name)
			}
		}
	})
	named := makefileTest.FindAllSubmatch(raw, -1)
	for _, m := range named {
		if name, pkg := string(m[1]), string(m[2]); !slices.Contains(tests[pkg], name) {
			t.Errorf("the Makefile runs %s of ./%s, which is not there", name, pkg)
		}
	}
	for _, m := range makefilePackage.FindAllSubmatch(raw, -1) {
		if _, err := os.Stat("../../" + string(m[1])); err != nil {
			t.Errorf("the Makefile names ./%s: %v", m[1], err)
		}
	}
	for pkg, names := range tests {
		for _, name := range names {
			if strings.HasPrefix(name, "Fuzz") && !bytes.Contains(raw, []byte("'^"+name+"$$' ./"+pkg+"\n")) {
				t.Errorf("make fuzz does not run %s of ./%s", name, pkg)
			}
		}
	}
}
