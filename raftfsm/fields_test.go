package raftfsm

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/compact"
)

var rewrite = flag.Bool("rewrite", false, "write the list of fields anew")

// releasedLevel is the feature level of the last release. Whoever makes the release of FeatureLevel raises it to that: no field of it may
// change from then on.
const releasedLevel = 0

// listFields lists the fields of every struct that is a part of the types, by its name, each as NAME:FORM@LEVEL.
func listFields(types ...reflect.Type) map[string][]string {
	all := map[string][]string{}
	for _, t := range types {
		forms := compact.Fields(reflect.New(t).Interface())
		for name, s := range structsIn(t) {
			all[name] = nil
			for i, f := range storedFields(s) {
				all[name] = append(all[name], fmt.Sprintf("%s@%d", forms[name][i], compact.FieldLevel(f)))
			}
		}
	}
	return all
}

// structsIn are the structs of a type by name, those inside others too.
func structsIn(types ...reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, t := range types {
		t = compact.FormOf(t)
		switch t.Kind() {
		case reflect.Slice, reflect.Map, reflect.Pointer:
			maps.Copy(all, structsIn(t.Elem()))
		case reflect.Struct:
			if t == reflect.TypeFor[time.Time]() || t.NumField() == 0 {
				continue
			}
			all[t.String()] = t
			for _, f := range storedFields(t) {
				maps.Copy(all, structsIn(f.Type))
			}
		}
	}
	return all
}

func storedFields(s reflect.Type) (fields []reflect.StructField) {
	for i := range s.NumField() {
		if f := s.Field(i); f.Tag.Get("json") != "-" {
			fields = append(fields, f)
		}
	}
	return fields
}

// checkFields compares the fields of the types with those that were written down: no field moves, goes away, or takes another form or level.
// A new one of a known struct stands at the end and says which level brings it. A new struct has the level of what leads to it: of a new
// command, or of a new field.
func checkFields(known map[string][]string, types ...reflect.Type) error {
	now, structs := listFields(types...), structsIn(types...)
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(known)) {
		was := known[name]
		if len(was) > len(now[name]) || !slices.Equal(now[name][:len(was)], was) {
			wrong = append(wrong, fmt.Errorf("%s had the fields %v, and has %v: none may move, go, or take another form or level, new ones stand at the end", name, was, now[name]))
			continue
		}
		for _, f := range storedFields(structs[name])[len(was):] {
			if err := checkNewField(f); err != nil {
				wrong = append(wrong, fmt.Errorf("field %s of %s is new: %w", f.Name, name, err))
			}
		}
	}
	return errors.Join(wrong...)
}

func checkNewField(f reflect.StructField) error {
	level, json := compact.FieldLevel(f), f.Tag.Get("json")
	switch _, tagged := f.Tag.Lookup("level"); {
	case !tagged:
		return fmt.Errorf("its tag has to say which feature level brings it, such as `level:\"%d\"`, or a server of the release before stops at it", releasedLevel+1)
	case level <= releasedLevel || level > ownLevel:
		return fmt.Errorf("its level is %d, but %d was released and FeatureLevel is %d", level, releasedLevel, ownLevel)
	case level > 1 && !strings.Contains(json, ",omitempty") && !strings.Contains(json, ",omitzero"):
		return errors.New("it needs omitempty or omitzero, or a server of the release before stops at its name although it holds nothing")
	}
	return nil
}

// recordedTypes are the types of everything in logs and snapshots: the objects of tables and the commands.
func recordedTypes() (all []reflect.Type) {
	for _, table := range tables {
		if of := reflect.TypeOf(table.NewObject()).Elem(); of != reflect.TypeFor[window]() { // that is made up
			all = append(all, of)
		}
	}
	for _, k := range kinds.All() {
		if k.Code < madeUpKinds {
			all = append(all, writtenType(k))
		}
	}
	return all
}

// writtenType is the type whose fields stand in the entries of a kind: of a wrapped command its own, unless the wrapper stands there too.
func writtenType(k kind) reflect.Type {
	wrapper, wraps := reflect.New(k.Type).Interface().(interface{ wrapped() any })
	if entry, err := k.Encode(nil, reflect.Zero(k.Type).Interface().(Command)); !wraps || err != nil || strings.HasPrefix(string(entry), `{"Command":`) {
		return k.Type
	}
	return reflect.TypeOf(wrapper.wrapped()).Elem()
}

// TestFieldsAreAppendOnly holds what is on disks: compact fields go by their places, and a server stops at a field that it does not
// know. `go test ./raftfsm -run Fields -rewrite` adds the new ones to the list.
func TestFieldsAreAppendOnly(t *testing.T) {
	const path = "testdata/fields"
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{}
	for line := range strings.Lines(string(written)) {
		fields := strings.Fields(line)
		known[fields[0]] = fields[1:]
	}
	if err := checkFields(known, recordedTypes()...); err != nil {
		t.Fatal(err)
	}
	var now strings.Builder
	for name, fields := range listFields(recordedTypes()...) {
		known[name] = fields
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintln(&now, name, strings.Join(known[name], " "))
	}
	switch {
	case now.String() == string(written):
	case *rewrite:
		if err := os.WriteFile(path, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("there are new fields: go test ./raftfsm -run Fields -rewrite writes them down; they are\n%s", &now)
	}
}

// inner is a part of the commands below.
type inner struct{ Text string }

// expectFields checks a type against those that were written down.
func expectFields(t *testing.T, name, problem string, of reflect.Type) {
	t.Helper()
	known := map[string][]string{"raftfsm.command": {"Name:text@1", "Inner:raftfsm.inner@1"}, "raftfsm.inner": {"Text:text@1"}}
	switch err := checkFields(known, of, reflect.TypeFor[inner]()); {
	case problem == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case problem != "" && (err == nil || !strings.Contains(err.Error(), problem)):
		t.Errorf("%s: %v, want %q", name, err, problem)
	}
}

func TestANewFieldHasALevel(t *testing.T) {
	raiseLevel(t, 2)
	{
		type command struct {
			Name  string
			Inner inner
			Grace int
		}
		expectFields(t, "without a level", "field Grace of raftfsm.command is new: its tag has to say", reflect.TypeFor[command]())
	}
	{
		type command struct {
			Name  string
			Inner inner
			Grace int `json:"grace,omitempty" level:"2"`
		}
		expectFields(t, "with a level", "", reflect.TypeFor[command]())
	}
	{
		type command struct {
			Name  string
			Inner inner
			Grace int `level:"2"`
		}
		expectFields(t, "written although it is zero", "omitempty", reflect.TypeFor[command]())
	}
	{
		type command struct {
			Name  string
			Inner inner
			Grace int `json:"grace,omitempty" level:"3"`
		}
		expectFields(t, "of a level to come", "its level is 3", reflect.TypeFor[command]())
	}
	{
		type part struct{ Text string }
		type command struct {
			Name  string
			Inner inner
			Parts []part `json:"parts,omitempty" level:"2"`
		}
		expectFields(t, "a new struct in a new field", "", reflect.TypeFor[command]())
	}
}

func TestAKnownFieldStays(t *testing.T) {
	{
		type command struct {
			Name  string
			Inner inner
		}
		expectFields(t, "as it was", "", reflect.TypeFor[command]())
	}
	{
		type command struct {
			Inner inner
			Name  string
		}
		expectFields(t, "moved", "none may move", reflect.TypeFor[command]())
	}
	{
		type command struct{ Name string }
		expectFields(t, "gone", "none may move, go", reflect.TypeFor[command]())
	}
	{
		type command struct {
			Name  int
			Inner inner
		}
		expectFields(t, "of another form", "another form", reflect.TypeFor[command]())
	}
	{
		type command struct {
			Name  string `level:"2"`
			Inner inner
		}
		expectFields(t, "of another level", "or level", reflect.TypeFor[command]())
	}
}
