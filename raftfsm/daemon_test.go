package raftfsm

import (
	"testing"

	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// A daemon runs definitions of daemons alone, and a service none of them, whatever a server that planned it has missed.
func TestADaemonRunsWhatIsForDaemons(t *testing.T) {
	h := newHistory(t)
	h.do(t, RegisterDefinition{Definition: definition("daemon/agents", "0")})
	create := func(id, name, runs string) CreateService {
		return CreateService{
			service.Service{ID: id, Cluster: spec.DefaultCluster, Name: name, Strategy: service.Daemon, CreatedAt: epoch},
			service.Revision{ID: id, Definition: runs}, service.Rollout{ID: id, CreatedAt: epoch},
		}
	}
	refuse(t, h, create("1", "daemon/agent", "cpu:1"), spec.ErrNotFound)
	refuse(t, h, create("2", "agent", "daemon/agents:1"), spec.ErrNotFound)
	h.do(t, create("3", "daemon/agent", "daemon/agents:1"))
	h.do(t, create("4", "agent", "cpu:1"))
	if s := h.View().ServiceByID("3"); s.Group() != "daemon:agent" || s.Title() != "daemon agent" || !s.IsDaemon() {
		t.Errorf("%+v", s)
	}
	if s := h.View().ServiceByID("4"); s.Group() != "service:agent" || s.Title() != "service agent" || s.IsDaemon() {
		t.Errorf("%+v", s)
	}
}

// A definition of daemons is deleted while it is ACTIVE, and is forgotten with the last daemon that has it.
func TestADefinitionOfDaemonsIsNeverInactive(t *testing.T) {
	h := newHistory(t)
	h.do(t, RegisterDefinition{Definition: definition("daemon/agents", "0")})
	got := h.do(t, DeleteDefinitions{Names: []string{"daemon/agents:1", "cpu:1"}, At: at(1)}).([]*spec.TaskDefinition)
	if len(got) != 1 || got[0].Name() != "daemon/agents:1" || got[0].Status != spec.DefinitionDeleting {
		t.Errorf("%+v", got)
	}
	if again := h.do(t, DeleteDefinitions{Names: []string{"daemon/agents:1"}, At: at(2)}).([]*spec.TaskDefinition); !again[0].DeleteRequestedAt.Equal(at(1)) {
		t.Errorf("deleted again: %+v", again[0])
	}
}
