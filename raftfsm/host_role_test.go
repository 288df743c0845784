package raftfsm

import (
	"bytes"
	"errors"
	"testing"

	"pinion/raftfsm/spec"
)

func TestADrainingHostKeepsItsTasksAndTakesNoMore(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1"))
	if host := h.do(t, SetHostStatus{ID: "h1", Status: spec.HostDraining}).(*spec.Host); host.Status != spec.HostDraining || host.Revision != 2 {
		t.Errorf("%+v", host)
	}
	if got := h.launch(t, Launch{Tasks: []*spec.Task{task("t2", "h1")}}); len(got.Refused) != 1 || h.View().Task("t1").DesiredStatus != spec.Running {
		t.Errorf("%+v", got)
	}
	before := h.snapshot(t)
	h.do(t, SetHostStatus{ID: "h1", Status: spec.HostDraining})
	h.do(t, PutHost{hostWith("h1", 4)})
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("draining again, or joining again, changed something")
	}
	h.do(t, SetHostStatus{ID: "h1", Status: spec.HostActive})
	h.running(t, task("t3", "h1"))
}

func TestOnlyActiveAndDrainingCanBeSet(t *testing.T) {
	h := newHistory(t)
	for _, status := range []spec.HostStatus{"", "INACTIVE", "DEREGISTERING"} {
		if _, err := h.try(t, SetHostStatus{ID: "h1", Status: status}); err == nil {
			t.Errorf("%q was taken", status)
		}
	}
	if _, err := h.try(t, SetHostStatus{ID: "none", Status: spec.HostDraining}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

func TestOnlyThePoolSaysWhoIsAServer(t *testing.T) {
	h := newHistory(t)
	boasting := hostWith("h2", 0)
	boasting.Server = true
	if put := h.do(t, PutHost{boasting}).(*spec.Host); put.Server {
		t.Error("a new host made itself a server")
	}
	if set := h.do(t, SetServerRole{"h2", true}).(*spec.Host); !set.Server || set.Revision != 2 {
		t.Errorf("%+v", set)
	}
	before := h.snapshot(t)
	h.do(t, PutHost{hostWith("h2", 0)})
	h.do(t, SetServerRole{"h2", true})
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("joining again, or the same again, changed something")
	}
	if set := h.do(t, SetServerRole{"h2", false}).(*spec.Host); set.Server {
		t.Error("still a server")
	}
	if _, err := h.try(t, SetServerRole{"none", true}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}
