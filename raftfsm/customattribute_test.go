package raftfsm

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestCustomAttributesOutliveTheReturnOfTheirHost(t *testing.T) {
	h := newHistory(t)
	own := hostWith("h1", 4)
	own.Attributes = map[string]string{"rack": "7", "row": "a"}
	h.do(t, PutHost{own})
	h.do(t, PutAttributes{[]HostAttribute{{"h1", "rack", "8"}, {"h1", "spot", ""}}})
	h.do(t, PutHost{own})
	host := h.View().Host("h1")
	for name, want := range map[string]string{"rack": "8", "row": "a", "spot": ""} {
		if value, carried := host.Attribute(name); value != want || !carried || host.AllAttributes()[name] != want {
			t.Errorf("%s is %q", name, value)
		}
	}
	h.do(t, DeleteAttributes{[]HostAttribute{{HostID: "h1", Name: "rack"}, {HostID: "h1", Name: "spot"}, {HostID: "h1", Name: "none"}}})
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
	bold.Custom, bold.Tags = map[string]string{"rack": "7"}, []Tag{{"a", "b"}}
	if put := h.do(t, PutHost{bold}).(*Host); put.Custom != nil || put.Tags != nil {
		t.Errorf("%+v", put)
	}
}

func TestCustomAttributesAreCounted(t *testing.T) {
	h := newHistory(t)
	var ten []HostAttribute
	for i := range MaxCustom {
		ten = append(ten, HostAttribute{"h1", fmt.Sprint("a", i), "x"})
	}
	h.do(t, PutAttributes{ten})
	before := h.snapshot(t)
	for name, want := range map[string]error{"h1": ErrTooManyAttributes, "none": ErrNotFound} {
		_, err := h.try(t, PutAttributes{[]HostAttribute{{"h1", "a0", "changed"}, {name, "more", ""}}})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !slices.Equal(before, h.snapshot(t)) {
		t.Error("a part of what was refused stands in the state")
	}
}
