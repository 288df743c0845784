package raftfsm

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestCustomAttributesOutliveTheReturnOfTheirHost(t *testing.T) {
	h := newHistory(t)
	own := hostWith("h1", 4)
	own.Attributes = map[string]string{"rack": "7", "row": "a"}
	h.do(t, PutHost{own})
	h.do(t, PutAttributes{[]spec.HostAttribute{{HostID: "h1", Name: "rack", Value: "8"}, {HostID: "h1", Name: "spot", Value: ""}}})
	h.do(t, PutHost{own})
	host := h.View().Host("h1")
	for name, want := range map[string]string{"rack": "8", "row": "a", "spot": ""} {
		if value, carried := host.Attribute(name); value != want || !carried || host.AllAttributes()[name] != want {
			t.Errorf("%s is %q", name, value)
		}
	}
	h.do(t, DeleteAttributes{[]spec.HostAttribute{{HostID: "h1", Name: "rack"}, {HostID: "h1", Name: "spot"}, {HostID: "h1", Name: "none"}}})
	if value, _ := h.View().Host("h1").Attribute("rack"); value != "7" {
		t.Errorf("what the host says itself is %q now", value)
	}
	if _, carried := h.View().Host("h1").Attribute("spot"); carried {
		t.Error("spot was deleted")
	}
}

func TestAHostSaysNothingAboutItsCustomAttributes(t *testing.T) {
	h := newHistory(t)
	bold := hostWith("h2", 0)
	bold.CustomAttributes, bold.Tags = map[string]string{"rack": "7"}, []spec.Tag{{Key: "a", Value: "b"}}
	if put := h.do(t, PutHost{bold}).(*spec.Host); put.CustomAttributes != nil || put.Tags != nil {
		t.Errorf("%+v", put)
	}
}

func TestCustomAttributesAreCounted(t *testing.T) {
	h := newHistory(t)
	var ten []spec.HostAttribute
	for i := range spec.MaxCustomAttributes {
		ten = append(ten, spec.HostAttribute{HostID: "h1", Name: fmt.Sprint("a", i), Value: "x"})
	}
	h.do(t, PutAttributes{ten})
	before := h.snapshot(t)
	for name, want := range map[string]error{"h1": spec.ErrTooManyAttributes, "none": spec.ErrNotFound} {
		_, err := h.try(t, PutAttributes{[]spec.HostAttribute{{HostID: "h1", Name: "a0", Value: "changed"}, {HostID: name, Name: "more", Value: ""}}})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !slices.Equal(before, h.snapshot(t)) {
		t.Error("a part of what was refused stands in the state")
	}
}
