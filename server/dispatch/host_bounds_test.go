package dispatch

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// newBackend is that of a server that leads, with the hosts mine and other, and a task of each with its name.
func newBackend(t *testing.T) (*Backend, *raftfsm.State) {
	t.Helper()
	server, host := &fakeServer{state: raftfsm.NewState()}, &fakeHost{}
	commands := []raftfsm.Command{raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "default", Status: spec.ClusterActive}},
		raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Containers: []spec.ContainerDefinition{{Name: "c", Image: "i", Memory: 64}}}}}
	for _, id := range []string{"mine", "other"} {
		task := &spec.Task{ID: id, Cluster: "default", Definition: "f:1", HostID: id, LastStatus: spec.Pending, DesiredStatus: spec.Running, Version: 1, Containers: []spec.Container{{Name: "c"}}}
		commands = append(commands, raftfsm.PutHost{Host: spec.Host{ID: id, Name: id, Cluster: "default"}},
			raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: []*spec.Task{task}}}})
	}
	for _, c := range commands {
		if _, err := server.Propose(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	return NewBackend(server, host, fakePoolInfo{}, nil, nil), server.state
}

func TestAHostThatSaysTooMuchOfItselfIsRefused(t *testing.T) {
	b, state := newBackend(t)
	before := state.View().Index()
	large := spec.Host{ID: "mine", Name: "mine", Cluster: "default", Attributes: map[string]string{"a": strings.Repeat("x", maxHostBytes)}}
	if _, err := b.Register(t.Context(), Registration{Host: large}); err == nil || state.View().Index() != before {
		t.Errorf("it is recorded: %v", err)
	}
	large.Attributes["a"] = large.Attributes["a"][:maxHostBytes/2]
	if _, err := b.Register(t.Context(), Registration{Host: large}); err != nil {
		t.Errorf("half of that: %v", err)
	}
	for _, h := range []spec.Host{{CPU: -1}, {MemoryMiB: -1}, {CPU: math.MaxInt64}, {MemoryMiB: math.MaxInt64}} {
		h.ID, h.Cluster = "mine", "default"
		if _, err := b.Register(t.Context(), Registration{Host: h}); err == nil {
			t.Errorf("%d CPU units and %d MiB are believed", h.CPU, h.MemoryMiB)
		}
	}
}

// What a host reports is written down by every server: of its own tasks what there is to say, and of others that it knows of them.
func TestReportsAreRecordedWithinBounds(t *testing.T) {
	b, state := newBackend(t)
	much := strings.Repeat("x", 1<<20)
	container := spec.ContainerReport{Name: "c", Reason: much, RuntimeID: much, ImageDigest: much, Bindings: make([]spec.NetworkBinding, 10_000)}
	report := spec.TaskReport{Status: spec.Running, StoppedReason: much, Containers: slices.Repeat([]spec.ContainerReport{container}, 10)}
	var reports []spec.TaskReport
	for _, id := range []string{"mine", "other", "nobody's", much} {
		report.TaskID = id
		reports = append(reports, report)
	}
	text, err := json.Marshal(boundedReports(state.View(), "mine", reports))
	if err != nil || len(text) > 64<<10 {
		t.Errorf("%d bytes are proposed, %v", len(text), err)
	}
	unknown, err := b.Report(t.Context(), "mine", reports)
	if slices.Sort(unknown); err != nil || !slices.Equal(unknown, []string{"nobody's", "other"}) {
		t.Errorf("%d are unknown: %v", len(unknown), err)
	}
	if mine, other := state.View().Task("mine"), state.View().Task("other"); mine.LastStatus != spec.Running || other.LastStatus != spec.Pending {
		t.Errorf("the tasks are %s and %s", mine.LastStatus, other.LastStatus)
	}
}
