package change

import (
	"reflect"
	"strings"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// A host that says much of itself counts with every word, wherever it says it: each text, list and map of a host.
func TestAChangeOfAHostCountsAllThatTheHostSays(t *testing.T) {
	much := strings.Repeat("x", 1<<20)
	for name, host := range map[string]*spec.Host{
		"a name":                {Name: much},
		"a key of an attribute": {Attributes: map[string]string{much: ""}},
		"an attribute":          {Attributes: map[string]string{"pinion.said": much}},
		"a tag":                 {Tags: []spec.Tag{{Value: much}}},
		"ports":                 {Ports: make([]int, 1<<17)},
		"a problem of a GPU":    {GPUs: gpu.Inventory{Devices: []gpu.Device{{Problem: much}}}},
		"a MIG device":          {GPUs: gpu.Inventory{Devices: []gpu.Device{{MIGDevice: &gpu.MIGDevice{Profile: much}}}}},
	} {
		if size := (&Change{Kind: Host, Object: host}).Size(); size < len(much) || size > len(much)+10<<10 {
			t.Errorf("%s of 1 MiB counts %d bytes", name, size)
		}
	}
}

// What a field of a host refers to is of a kind that bytesOf follows: a new field that is an interface, say, would count nothing.
func TestEveryFieldOfAHostIsFollowed(t *testing.T) {
	var follow func(of reflect.Type)
	seen := map[reflect.Type]bool{}
	follow = func(of reflect.Type) {
		if seen[of] || of.String() == "time.Time" {
			return
		}
		seen[of] = true
		switch of.Kind() {
		case reflect.Struct:
			for i := range of.NumField() {
				follow(of.Field(i).Type)
			}
		case reflect.Map:
			follow(of.Key())
			follow(of.Elem())
		case reflect.Slice, reflect.Pointer:
			follow(of.Elem())
		case reflect.Interface, reflect.Array, reflect.Chan, reflect.Func:
			t.Errorf("a %s is not followed", of)
		}
	}
	follow(reflect.TypeFor[spec.Host]())
}
