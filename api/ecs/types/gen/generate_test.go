package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/api/ecs/internal/model"
)

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	files, err := generate(loadModel(t))
	if err != nil {
		t.Fatal(err)
	}
	committed, err := filepath.Glob("../*_gen.go")
	if err != nil || len(committed) != len(files) {
		t.Errorf("%d files are committed, %d are generated, %v", len(committed), len(files), err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join("..", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes, %v: run go generate ./api/ecs/types", name, err)
		}
	}
}

// A decision about a member that the model has not, or not any more, is void.
func TestOverlaySpeaksOfMembersOfTheModel(t *testing.T) {
	m := loadModel(t)
	for _, overlays := range []map[string]overlay{both, inputs, outputs} {
		for name, decided := range overlays {
			shape := m.Shapes[name]
			if shape == nil {
				t.Errorf("%s is not a shape of the model", name)
				continue
			}
			for _, member := range decided.members() {
				if shape.Member(member) == nil {
					t.Errorf("%s has no member %s", name, member)
				}
			}
			for _, own := range decided.Own {
				if shape.Member(own.name) != nil {
					t.Errorf("%s.%s is a member of the model", name, own.name)
				}
			}
		}
	}
}

// members are all that an overlay speaks of.
func (o overlay) members() []string {
	all := slices.Concat(strings.Fields(o.Optional), slices.Collect(maps.Keys(o.Types)), slices.Collect(maps.Keys(o.Refused)))
	for _, members := range o.LeftOut {
		all = append(all, strings.Fields(members)...)
	}
	return all
}

// The errors are copied from a model that has them; see operationErrors.
func TestErrorsAreThoseOfThePublishedModel(t *testing.T) {
	published := publishedErrors(t)
	for operation, errors := range published {
		want := slices.DeleteFunc(errors, func(name string) bool {
			return slices.Contains([]string{"AccessDenied", "Client", "InvalidParameter", "Server"}, name)
		})
		slices.Sort(want)
		if got := operationErrors[operation]; !slices.Equal(got, slices.Compact(want)) {
			t.Errorf("%s fails with %v, want %v", operation, got, want)
		}
	}
}

// publishedErrors are the errors of each operation, without "Exception" at the end, in the model of the botocore that Python
// finds. It skips the test where there is none.
func publishedErrors(t *testing.T) map[string][]string {
	t.Helper()
	folder, err := exec.Command("python3", "-c", "import botocore, os; print(os.path.dirname(botocore.__file__))").Output()
	if err != nil {
		t.Skipf("NOT TESTED: no botocore on this machine, which has the model of ECS: %v", err)
	}
	found, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "data", "ecs", "*", "service-2.json.gz"))
	if len(found) == 0 {
		t.Skip("NOT TESTED: botocore has no compressed model of ECS")
	}
	f, err := os.Open(slices.Max(found))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var published struct {
		Operations map[string]struct{ Errors []struct{ Shape string } }
	}
	if err := json.NewDecoder(unpacked).Decode(&published); err != nil {
		t.Fatal(err)
	}
	errors := map[string][]string{}
	for name, operation := range published.Operations {
		for _, e := range operation.Errors {
			errors[name] = append(errors[name], strings.TrimSuffix(e.Shape, "Exception"))
		}
	}
	return errors
}

// A model with a member that Go cannot hold, and that nobody has decided about, is not generated from.
func TestGeneratorAsksForDecisions(t *testing.T) {
	m := loadModel(t)
	m.Shapes["Task"].Members = append(m.Shapes["Task"].Members, model.Member{Name: "mystery", Shape: "HookDetails"})
	if _, err := generate(m); err == nil || !strings.Contains(err.Error(), "Task.mystery") {
		t.Errorf("got %v", err)
	}
}
