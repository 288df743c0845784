package raftfsm

import (
	"errors"
	"testing"

	"pinion/raftfsm/spec"
)

func TestRevisionsCountUpWithinAFamily(t *testing.T) {
	h := newHistory(t)
	second := h.do(t, RegisterDefinition{Definition: definition("gpu", "2")}).(*spec.TaskDefinition)
	other := h.do(t, RegisterDefinition{Definition: definition("gpu-big", "8")}).(*spec.TaskDefinition)
	if second.Name() != "gpu:2" || other.Name() != "gpu-big:1" || second.Status != spec.DefinitionActive {
		t.Errorf("registered %s (%s) and %s", second.Name(), second.Status, other.Name())
	}
}

func TestARevisionIsNeverUsedAgain(t *testing.T) {
	h := newHistory(t)
	tx := h.begin()
	tx.remove(tableDefinitions, tx.Definition("gpu:1")) // what a later DeleteTaskDefinitions will do
	tx.commit()
	if again := h.do(t, RegisterDefinition{Definition: definition("gpu", "1")}).(*spec.TaskDefinition); again.Revision != 2 {
		t.Errorf("revision %d after 1 was deleted", again.Revision)
	}
}

func TestTheFamilyNameMeansTheLatestActiveRevision(t *testing.T) {
	h := newHistory(t)
	for range 11 {
		h.do(t, RegisterDefinition{Definition: definition("gpu", "1")})
	}
	latest := func() string { return h.View().Definition("gpu").Name() }
	if latest() != "gpu:12" {
		t.Errorf("latest is %s", latest())
	}
	h.do(t, DeregisterDefinition{Name: "gpu:12", At: at(1)})
	if latest() != "gpu:11" {
		t.Errorf("after 12 is gone the latest is %s", latest())
	}
	h.do(t, DeregisterDefinition{Name: "cpu:1", At: at(1)})
	if found := h.View().Definition("cpu"); found != nil {
		t.Errorf("a family without ACTIVE revisions gives %s", found.Name())
	}
	if found := h.View().Definition("cpu:1"); found == nil || found.Status != spec.DefinitionInactive || !found.DeregisteredAt.Equal(at(1)) {
		t.Errorf("the INACTIVE revision is %+v", found)
	}
}

func TestDeregisteringTwiceChangesNothing(t *testing.T) {
	h := newHistory(t)
	h.do(t, DeregisterDefinition{Name: "gpu:1", At: at(1)})
	index := h.View().Index()
	again := h.do(t, DeregisterDefinition{Name: "gpu:1", At: at(9)}).(*spec.TaskDefinition)
	if !again.DeregisteredAt.Equal(at(1)) || h.View().Index() != index {
		t.Errorf("deregistered at %v, index %d", again.DeregisteredAt, h.View().Index())
	}
}

func TestDeregisterNeedsAnExactName(t *testing.T) {
	h := newHistory(t)
	for _, name := range []string{"", "gpu", "gpu:", "gpu:01", "gpu:+1", "gpu:2", "gpu:x", "none:1", "gpu:1:1"} {
		if _, err := h.try(t, DeregisterDefinition{Name: name}); !errors.Is(err, spec.ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestDefinitionsAreListedByFamilyThenRevision(t *testing.T) {
	h := newHistory(t)
	for range 10 {
		h.do(t, RegisterDefinition{Definition: definition("gpu", "1")})
	}
	h.do(t, RegisterDefinition{Definition: definition("gpu-a", "1")})
	var names []string
	for _, d := range h.View().Definitions("") {
		names = append(names, d.Name())
	}
	if len(names) != 13 || names[0] != "cpu:1" || names[2] != "gpu:2" || names[11] != "gpu:11" || names[12] != "gpu-a:1" {
		t.Errorf("all: %v", names)
	}
	if got := h.View().Definitions("gpu"); len(got) != 11 || got[10].Name() != "gpu:11" {
		t.Errorf("one family: %d, the last is %s", len(got), got[len(got)-1].Name())
	}
}
