package ecs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pinion/api/ecs/internal/model"
)

// fate is what becomes of a member of a task definition. One of test, none, never and today is set.
type fate struct {
	test  string // it works: the test that shows it, as the folder of its package and its name
	none  string // it is taken and has no effect: why
	never string // it is refused for good: why
	today string // it is refused so far: why
	value string // of one that is refused: a value that the test calls with
}

// leaf is a member of the input of RegisterTaskDefinition that has no members of its own.
type leaf struct {
	path   string // "containerDefinitions[].name"
	values []string
}

// leaves are the members of the model, in its order. A union is one: its members are not of this model's releases alike.
func leaves(m *model.Model, shape, path string) (all []leaf) {
	s := m.Shapes[shape]
	switch s.Kind {
	case model.Structure:
		for _, member := range s.Members {
			all = append(all, leaves(m, member.Shape, strings.TrimPrefix(path+"."+member.Name, "."))...)
		}
		return all
	case model.List:
		return leaves(m, s.Member("member").Shape, path+"[]")
	}
	return []leaf{{path, s.Values}}
}

func definitionLeaves(t *testing.T) []leaf {
	t.Helper()
	m, err := model.Load()
	if err != nil {
		t.Fatal(err)
	}
	return leaves(m, m.Operations["RegisterTaskDefinition"].Input, "")
}

// fateOf finds what the table says of a member: by its own path, or by that of one that it is part of.
func fateOf(path string) (key string, found []string) {
	for prefix := path; ; {
		if _, known := fates[prefix]; known {
			found = append(found, prefix)
		}
		at := max(strings.LastIndexByte(prefix, '.'), 0)
		if at == 0 {
			break
		}
		prefix = strings.TrimSuffix(prefix[:at], "[]")
	}
	if len(found) > 0 {
		key = found[0]
	}
	return key, found
}

// Every member of a task definition works, has no effect for a reason, or is refused by name with one. A member that Amazon adds fails here
// until somebody has decided.
func TestEveryMemberOfATaskDefinitionHasOneFate(t *testing.T) {
	used, known := map[string]bool{}, map[string]bool{}
	for _, l := range definitionLeaves(t) {
		known[l.path] = true
		key, found := fateOf(l.path)
		if len(found) != 1 {
			t.Errorf("%s: the table speaks of %q, want one line", l.path, found)
		}
		used[key] = true
	}
	tests := projectTests(t)
	for path, f := range fates {
		if !used[path] {
			t.Errorf("%s is no member of a task definition", path)
		}
		if given := len(slices.DeleteFunc([]string{f.test, f.none, f.never, f.today}, func(s string) bool { return s == "" })); given != 1 {
			t.Errorf("%s has %d fates", path, given)
		}
		if (f.test != "" || f.none != "") && !known[path] {
			t.Errorf("%s works or has no effect: that is said of each of its members", path)
		}
		if f.test != "" && !tests[f.test] {
			t.Errorf("%s: there is no test %s", path, f.test)
		}
	}
}

// projectTests are the tests of the project: "folder.TestName".
func projectTests(t *testing.T) map[string]bool {
	t.Helper()
	all, root := map[string]bool{}, filepath.Join("..", "..")
	declared := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]*)\(t \*testing\.T\)`)
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		folder, _ := filepath.Rel(root, filepath.Dir(path))
		for _, match := range declared.FindAllSubmatch(text, -1) {
			all[folder+"."+string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A member that is refused is refused by its name, alone in a definition that is right otherwise.
func TestRefusedMembersAreNamed(t *testing.T) {
	f := newFixture(t)
	for path, fate := range fates {
		if fate.never == "" && fate.today == "" {
			continue
		}
		refused := f.call("RegisterTaskDefinition", string(definitionWith(t, path, fate.value)))
		name := strings.TrimSuffix(strings.ReplaceAll(path, "[].", "[0]."), "[]")
		if refused.err == nil || !strings.Contains(refused.err.Error(), name) {
			t.Errorf("%s: the refusal does not name %s: %v", path, name, refused.err)
		}
		if yet := refused.err != nil && strings.Contains(refused.err.Error(), " yet"); yet != (fate.today != "") {
			t.Errorf("%s: the refusal is for good, or is not: %v", path, refused.err)
		}
	}
}

// definitionWith is a small definition with one more member, which its path leads to.
func definitionWith(t *testing.T, path, value string) []byte {
	t.Helper()
	definition := map[string]any{"family": "f", "containerDefinitions": []any{map[string]any{"name": "c", "image": "i", "memory": 64}}}
	object, words := definition, strings.Split(strings.TrimSuffix(path, "[]"), ".")
	for _, word := range words[:len(words)-1] {
		name, isList := strings.CutSuffix(word, "[]")
		inner := map[string]any{}
		switch there := object[name].(type) {
		case []any:
			inner = there[0].(map[string]any)
		case nil:
			if object[name] = inner; isList {
				object[name] = []any{inner}
			}
			if name == "volumes" {
				inner["name"] = "v"
			}
		}
		object = inner
	}
	object[words[len(words)-1]] = json.RawMessage(value)
	text, err := json.Marshal(definition)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return text
}

// The definitions in testdata/fields have every member that is taken, and are shown again as they were given.
func TestEveryMemberThatIsTakenIsShown(t *testing.T) {
	f := newFixture(t)
	tried := map[string]bool{}
	documents, err := filepath.Glob(filepath.Join("testdata", "fields", "*.json"))
	if err != nil || len(documents) == 0 {
		t.Fatal("there are no definitions", err)
	}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var given, shown struct{ Definition any }
		if err := json.Unmarshal(text, &given.Definition); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f.must(t, "RegisterTaskDefinition", string(text))
		family := given.Definition.(map[string]any)["family"].(string)
		answer := map[string]any{}
		f.must(t, "DescribeTaskDefinition", fmt.Sprintf(`{"taskDefinition":%q,"include":["TAGS"]}`, family)).decode(t, &answer)
		shown.Definition = answer["taskDefinition"]
		shown.Definition.(map[string]any)["tags"] = answer["tags"]
		for _, wrong := range differences(given.Definition, shown.Definition, "", tried) {
			t.Errorf("%s: %s", path, wrong)
		}
	}
	for path, fate := range fates {
		if (fate.test != "" || fate.none != "") && !tried[path] {
			t.Errorf("%s is in no definition of testdata/fields", path)
		}
	}
}

// differences are the members of what was given that are not shown alike; tried gets the paths of all.
func differences(given, shown any, path string, tried map[string]bool) (all []string) {
	tried[path] = true
	switch g := given.(type) {
	case map[string]any:
		s, _ := shown.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(g)) {
			all = append(all, differences(g[name], s[name], strings.TrimPrefix(path+"."+name, "."), tried)...)
		}
		return all
	case []any:
		s, _ := shown.([]any)
		for i := range g {
			if i >= len(s) {
				return append(all, fmt.Sprintf("%s has %d items, and %d are shown", path, len(g), len(s)))
			}
			all = append(all, differences(g[i], s[i], path+"[]", tried)...)
		}
		return all
	}
	if given != shown {
		all = append(all, fmt.Sprintf("%s is %v, and %v is shown", path, given, shown))
	}
	return all
}

// Every value of an enumeration is taken, or refused by the name of its member.
func TestEveryValueOfATaskDefinitionIsTakenOrRefused(t *testing.T) {
	f := newFixture(t)
	for _, l := range definitionLeaves(t) {
		if key, _ := fateOf(l.path); len(l.values) == 0 || fates[key].test == "" && fates[key].none == "" {
			continue
		}
		for _, value := range l.values {
			frame := cmp.Or(frames[l.path+" "+value], frames[l.path])
			body := strings.ReplaceAll(frame, "VALUE", value)
			if frame == "" {
				body = string(definitionWith(t, l.path, fmt.Sprintf("%q", value)))
				if strings.HasSuffix(l.path, "[]") {
					body = string(definitionWith(t, l.path, fmt.Sprintf("[%q]", value)))
				}
			}
			got, why := f.call("RegisterTaskDefinition", body), refusedValues[l.path][value]
			if member := l.path[strings.LastIndexByte(l.path, '.')+1:]; why == "" && got.err != nil || why != "" && (got.err == nil || !strings.Contains(got.err.Error(), strings.TrimSuffix(member, "[]"))) {
				t.Errorf("%s %s: %v, want a refusal (%q)", l.path, value, got.err, why)
			}
		}
	}
}
