package server

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

func wantUserNamespaces(t *testing.T, s *Server, value string) {
	t.Helper()
	apply(t, s, raftfsm.UpdateCluster{Name: spec.DefaultCluster, Settings: []spec.Setting{{Name: spec.SettingUserNamespaces, Value: value}}})
}

// A host of an older version, or of a kernel without user namespaces, gets no task of a cluster that wants them. A host that has them is
// told with the task.
func TestAClusterThatWantsUserNamespacesUsesHostsThatHaveThem(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 0)
	definition := define(t, s, 0)
	wantUserNamespaces(t, s, "enabled")
	if r := run(t.Context(), t, s, runOf(definition)); len(r.Tasks) != 0 || !strings.Contains(r.Failures[0].Detail, "setting userNamespaces") {
		t.Errorf("a host without: %+v", r)
	}
	host := *view(t, s).Host(hostID)
	host.UserNamespaces = spec.UserNamespacesAvailable
	if _, err := s.agents.Join(t.Context(), host, nil); err != nil {
		t.Fatal(err)
	}
	if r := run(t.Context(), t, s, runOf(definition)); len(r.Tasks) != 1 {
		t.Fatalf("a host with: %+v", r)
	}
	if assigned, _ := view(t, s).Assignments(hostID); len(assigned) != 1 || !assigned[0].UserNamespaces {
		t.Errorf("the host is told %+v", assigned)
	}
	wantUserNamespaces(t, s, "disabled")
	if assigned, _ := view(t, s).Assignments(hostID); assigned[0].UserNamespaces {
		t.Errorf("afterwards it is told %+v", assigned)
	}
}

// A task that waits is tried again when its cluster changes what it wants.
func TestATaskThatWaitsForUserNamespacesIsPlacedWithoutThemWhenNobodyWantsThem(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 0)
	wantUserNamespaces(t, s, "enabled")
	waiting := run(t.Context(), t, s, queuedRun(define(t, s, 0))).Tasks[0]
	leaderKnows(t, s)
	wantUserNamespaces(t, s, "disabled")
	become(t, s, waiting.ID, hasPlace)
}

// A cluster that allows some images runs no others, and its hosts are told, who check it again.
func TestAClusterRunsTheImagesThatItAllows(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 0)
	c := spec.ContainerDefinition{Name: "main", Image: "busybox", CPU: 1, Memory: 1}
	definition := apply(t, s, raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "work", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{c}}}).(*spec.TaskDefinition).Name()
	allow := func(images string) {
		t.Helper()
		apply(t, s, raftfsm.UpdateCluster{Name: spec.DefaultCluster, Settings: []spec.Setting{{Name: spec.SettingAllowedImages, Value: images}}})
	}
	allow("registry.example.com/team")
	if r := run(t.Context(), t, s, runOf(definition)); len(r.Tasks) != 0 || !strings.Contains(r.Failures[0].Detail, spec.SettingAllowedImages) {
		t.Errorf("%+v", r)
	}
	allow("registry.example.com/team,docker.io/library")
	if r := run(t.Context(), t, s, runOf(definition)); len(r.Tasks) != 1 {
		t.Errorf("%+v", r)
	}
	if assigned, _ := view(t, s).Assignments(hostID); len(assigned) != 1 || assigned[0].AllowedImages != "registry.example.com/team,docker.io/library" {
		t.Errorf("the host is told %+v", assigned)
	}
}
