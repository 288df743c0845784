package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"pinion/packaging/bundle/tool"
)

const root = "../../.."

// bill is that of the binary that `make build` has left.
var known = sync.OnceValues(func() (licences, error) { return findLicences(root) })

var bill = sync.OnceValues(newBill)

func newBill() (*cyclonedx.BOM, error) {
	from, err := known()
	if err != nil {
		return nil, err
	}
	return newBOM(root, tool.Native, "1.2.3", from)
}

// Every module that `go version -m` finds in a program inside the binary is in the bill as a part of that program, with its version,
// its hash and a licence.
func TestTheBillNamesEverythingInTheBinary(t *testing.T) {
	bom, err := bill()
	if err != nil {
		t.Fatal(err)
	}
	components := map[string]cyclonedx.Component{}
	for _, c := range *bom.Components {
		components[c.BOMRef] = c
		if c.Licenses == nil {
			t.Errorf("%s has no licence", c.BOMRef)
		}
	}
	programs := map[string]string{"pinion": filepath.Join(root, "bin/pinion")}
	for _, each := range tool.All {
		programs[each.Name] = filepath.Join(root, tool.Native.Tools(), each.Name)
	}
	for name, path := range programs {
		parts := partsOf(bom, "program:"+name)
		modules := modulesIn(t, path)
		if len(modules) == 0 && name != "pinion-logger" {
			t.Errorf("go version -m finds no module in %s", name)
		}
		for _, m := range modules {
			ref := "pkg:golang/" + m.path + "@" + strings.ReplaceAll(m.version, "+", "%2B") + "?type=module"
			c := components[ref]
			if !slices.Contains(parts, ref) || c.Name != m.path || c.Version != m.version || c.Hashes == nil || (*c.Hashes)[0].Value != m.hash {
				t.Errorf("the bill of %s lacks %+v: %+v", name, m, c)
			}
		}
		if !slices.ContainsFunc(parts, func(ref string) bool { return strings.HasPrefix(ref, "pkg:golang/std@") }) {
			t.Errorf("the bill of %s lacks Go's own library", name)
		}
	}
	for _, library := range []string{"pkg:generic/libseccomp@", "pkg:generic/glibc@"} {
		if !slices.ContainsFunc(partsOf(bom, "program:runc"), func(ref string) bool { return strings.HasPrefix(ref, library) }) {
			t.Errorf("the bill of runc lacks %s", library)
		}
	}
	if parts := partsOf(bom, "program:pinion"); !slices.Contains(parts, "program:runc") {
		t.Errorf("pinion is said to have no runc inside: %v", parts)
	}
}

// partsOf are the references of what a program consists of.
func partsOf(bom *cyclonedx.BOM, ref string) []string {
	for _, d := range *bom.Dependencies {
		if d.Ref == ref {
			return *d.Dependencies
		}
	}
	return nil
}

// module is a line of `go version -m`.
type module struct{ path, version, hash string }

func modulesIn(t *testing.T, program string) (found []module) {
	t.Helper()
	out, err := exec.Command("go", "version", "-m", program).Output()
	if err != nil {
		t.Fatalf("go version -m %s: %v: run `make build` first", program, err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 4 && fields[0] == "dep" {
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(fields[3], "h1:"))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, module{fields[1], fields[2], hex.EncodeToString(sum)})
		}
	}
	return found
}

// The bill is what the specification's own schema, which its library brings, says that a bill is.
func TestTheBillIsValid(t *testing.T) {
	bom, err := bill()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := encode(&text, bom); err != nil {
		t.Fatal(err)
	}
	schema := schemaOf(t)
	check := func(text []byte) error {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		return schema.Validate(value)
	}
	if err := check(text.Bytes()); err != nil {
		t.Error(err)
	}
	if check(bytes.Replace(text.Bytes(), []byte(`"Apache-2.0"`), []byte(`"No-Such-Licence"`), 1)) == nil {
		t.Error("a licence that SPDX does not know is said to be valid")
	}
}

func schemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	var id string
	for _, name := range []string{"jsf-0.82.schemax.json", "spdx.schema.json", "bom-1.6.schema.json"} {
		raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema", name))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		id = document.(map[string]any)["$id"].(string)
		if err := compiler.AddResource(id, document); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// Tools that were built again since, or a binary with others inside, have no bill.
func TestABillIsOfTheToolsInTheBinaryOnly(t *testing.T) {
	for _, to := range []tool.Target{"amd64", "arm64"} {
		t.Run(string(to), func(t *testing.T) { billIsOfTheTools(t, to) })
	}
}

func billIsOfTheTools(t *testing.T, to tool.Target) {
	dir := t.TempDir()
	write := func(path, content string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var sums strings.Builder
	for _, each := range tool.All {
		write(filepath.Join(to.Tools(), each.Name), each.Name)
		sum := sha256.Sum256([]byte(each.Name))
		sums.WriteString(hex.EncodeToString(sum[:]) + "  " + each.Name + "\n")
	}
	write(to.Sums(), sums.String())
	write(to.Binary(), "ELF"+sums.String()+"...")
	if err := checkTools(dir, to); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(to.Tools(), "runc"), "another")
	if checkTools(dir, to) == nil {
		t.Error("another runc is taken for the one in the binary")
	}
	write(filepath.Join(to.Tools(), "runc"), "runc")
	write(to.Binary(), "ELF of another build")
	if checkTools(dir, to) == nil {
		t.Error("a binary with other tools inside is described by these")
	}
}

// Equal binaries have equal bills.
func TestTheBillDoesNotChange(t *testing.T) {
	first, err := bill()
	if err != nil {
		t.Fatal(err)
	}
	again, err := newBill()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(first, again) {
		t.Error("the second bill of one binary differs from the first")
	}
}

// Whoever gets a release gets the licences of all that is in it.
func TestEveryModuleHasItsLicenceInTheTexts(t *testing.T) {
	made, err := bill()
	if err != nil {
		t.Fatal(err)
	}
	from, err := known()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := writeTexts(&text, made, from); err != nil {
		t.Fatal(err)
	}
	for _, c := range *made.Components {
		if modulePath(c) != "pinion" && !strings.Contains(text.String(), "\n"+c.Name+" "+c.Version+"\n") {
			t.Errorf("%s %s has no licence there", c.Name, c.Version)
		}
	}
	for _, said := range []string{"Apache License", "Mozilla Public License", "Copyright (c) 2009 The Go Authors", "GNU LESSER GENERAL PUBLIC LICENSE"} {
		if !strings.Contains(text.String(), said) {
			t.Errorf("no %q", said)
		}
	}
}
