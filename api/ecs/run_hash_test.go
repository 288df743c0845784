package ecs

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// supported is a type whose members that are refused today are read: the input of a later version.
func supported(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.PointerTo(supported(t.Elem()))
	case reflect.Slice:
		return reflect.SliceOf(supported(t.Elem()))
	case reflect.Struct:
		if t == reflect.TypeFor[wire.Unsupported]() {
			return reflect.TypeFor[any]()
		}
		var fields []reflect.StructField
		for i := range t.NumField() {
			field := t.Field(i)
			if field.Anonymous || !field.IsExported() { // a noun of the state, which has no refused members
				return t
			}
			field.Type = supported(field.Type)
			fields = append(fields, field)
		}
		return reflect.StructOf(append(fields, reflect.StructField{Name: "Added", Type: reflect.TypeFor[[]string](), Tag: `json:"added"`}))
	}
	return t
}

// A retry may come after an upgrade that reads members which were refused before, in another Go type: it is the same request.
func TestARetryAfterAnUpgradeIsTheSameRequest(t *testing.T) {
	for _, body := range []string{
		`{"taskDefinition":"f:1"}`,
		`{"taskDefinition":"f:1","count":2,"enableExecuteCommand":false,"volumeConfigurations":[],"tags":[{"key":"a","value":""}]}`,
		`{"taskDefinition":"f:1","overrides":{"cpu":"1","ephemeralStorage":{},"containerOverrides":[{"name":"c","command":["a","","b"]}]}}`,
		`{"taskDefinition":"f:1","group":"","startedBy":"x","networkConfiguration":null,"capacityProviderStrategy":[{"capacityProvider":"PINION","weight":0}]}`,
	} {
		var today types.RunTaskInput
		later := reflect.New(supported(reflect.TypeFor[types.RunTaskInput]())).Interface()
		for _, in := range []any{&today, later} {
			if err := wire.DecodeJSON([]byte(body), in, wire.Lenient); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := parametersHash(later), parametersHash(today); got != want {
			text, _ := json.Marshal(later)
			t.Errorf("%s has another hash as %s", body, text)
		}
	}
}

func TestAnotherRequestHasAnotherHash(t *testing.T) {
	hashes := map[string]string{}
	for _, body := range []string{
		`{"taskDefinition":"f:1"}`, `{"taskDefinition":"f:2"}`, `{"taskDefinition":"f:1","count":1}`, `{"taskDefinition":"f:1","count":2}`,
		`{"taskDefinition":"f:1","startedBy":"x"}`, `{"taskDefinition":"f:1","group":"x"}`, `{"taskDefinition":"f:1","array":"0-1"}`,
		`{"taskDefinition":"f:1","enableECSManagedTags":true}`,
		`{"taskDefinition":"f:1","overrides":{"containerOverrides":[{"name":"c","command":["a","b"]}]}}`,
		`{"taskDefinition":"f:1","overrides":{"containerOverrides":[{"name":"c","command":["a","","b"]}]}}`,
		`{"taskDefinition":"f:1","overrides":{"containerOverrides":[{"name":"c","cpu":0}]}}`,
		`{"taskDefinition":"f:1","overrides":{"containerOverrides":[{"name":"c","command":["b","a"]}]}}`,
	} {
		var in types.RunTaskInput
		if err := wire.DecodeJSON([]byte(body), &in, wire.Lenient); err != nil {
			t.Fatal(err)
		}
		hash := runTaskHash("default", &in)
		if other, same := hashes[hash]; same {
			t.Errorf("%s has the hash of %s", body, other)
		}
		hashes[hash] = body
		in.ClientToken, in.Cluster = "another", arnPrefix+"cluster/default"
		if runTaskHash("default", &in) != hash {
			t.Errorf("%s: the token or the way to write the cluster counts", body)
		}
	}
}

// The hash is in the log: it is the same in every version.
func TestTheHashOfARequestIsThatOfItsCanonicalForm(t *testing.T) {
	count, weight := 2, 0
	in := types.RunTaskInput{TaskDefinition: "f:1", Count: &count, Tags: []spec.Tag{{Key: "a"}},
		CapacityProviderStrategy: []types.StrategyItem{{CapacityProvider: "PINION", Weight: weight}}}
	canonical := `{"capacityProviderStrategy":[{"base":0,"capacityProvider":"PINION","weight":0}],"cluster":"default","count":2,"tags":[{"key":"a"}],"taskDefinition":"f:1"}`
	if got, want := runTaskHash("default", &in), fmt.Sprintf("%x", sha256.Sum256([]byte(canonical))); got != want {
		t.Errorf("the hash is %s, not %s", got, want)
	}
	for _, input := range []any{types.RunTaskInput{}, types.CreateTaskSetInput{}} {
		for _, member := range reflect.VisibleFields(reflect.TypeOf(input)) {
			if name := member.Tag.Get("json"); name == "" || strings.Contains(name, ",") || member.Anonymous {
				t.Errorf("%T.%s has the JSON name %q: members reads names only", input, member.Name, name)
			}
		}
	}
}
