package view

import (
	"slices"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

const (
	hostID = "aaaa0000000000000000000000000001"
	taskID = "00000000000000000000000000000001"
)

// fixture is a state with a host of two GPUs and a definition, and a renderer for each view of it.
type fixture struct {
	state        *raftfsm.State
	index        uint64
	disconnected map[string]bool
	region       string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{state: raftfsm.NewState(), disconnected: map[string]bool{}, region: "us-east-1"}
	f.apply(t, raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	f.apply(t, raftfsm.PutHost{Host: newHost()})
	essential, side := true, false
	f.apply(t, raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{
		{Name: "a", Image: "i", Memory: 64, Essential: &essential}, {Name: "side", Image: "i", Memory: 32, Essential: &side},
	}}})
	return f
}

func newHost() spec.Host {
	return spec.Host{
		ID: hostID, Name: "gpu-1", Cluster: spec.DefaultCluster, Version: "1.2.3", Status: spec.HostActive, CPU: 4096, MemoryMiB: 8192,
		Attributes: map[string]string{"ecs.availability-zone": "rack-1"}, RegisteredAt: epoch,
		GPUs: gpu.Inventory{Devices: []gpu.Device{{UUID: "GPU-0", Health: gpu.Healthy}, {UUID: "GPU-1", Health: gpu.Healthy}}},
	}
}

func (f *fixture) apply(t *testing.T, command raftfsm.Command) {
	t.Helper()
	f.index++
	if _, err := f.state.Apply(f.index, command); err != nil {
		t.Fatalf("%T: %v", command, err)
	}
}

// Connected is Connectivity.
func (f *fixture) Connected(hostID string) bool { return !f.disconnected[hostID] }

func (f *fixture) renderer() *Renderer {
	return &Renderer{Region: f.region, View: f.state.View(), Hosts: f, Now: func() time.Time { return epoch }}
}

// run records a task on the host.
func (f *fixture) run(t *testing.T) {
	t.Helper()
	f.apply(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, At: epoch, Tasks: []*spec.Task{{
		ID: taskID, Cluster: spec.DefaultCluster, Definition: "f:1", HostID: hostID, Group: "family:f", MemoryMiB: 96, LastStatus: spec.Pending,
		DesiredStatus: spec.Running, Version: 1, CreatedAt: epoch, Tags: []spec.Tag{{Key: "a", Value: "1"}},
		Containers: []spec.Container{{ID: "c0", Name: "a", GPUs: []string{"GPU-0"}}, {ID: "c1", Name: "side"}},
	}}}}})
}

func (f *fixture) report(t *testing.T, status spec.Status) {
	t.Helper()
	f.apply(t, raftfsm.ReportTasks{HostID: hostID, Reports: []spec.TaskReport{{TaskID: taskID, Status: status, Times: spec.TaskTimes{PullStarted: epoch}}}})
}

// A cached task is never older than the state: after each change it is what a renderer without a cache makes.
func TestACachedTaskIsNeverStale(t *testing.T) {
	f := newFixture(t)
	f.run(t)
	moved := newHost()
	moved.Attributes["ecs.availability-zone"] = "rack-2"
	var cache TaskCache
	before := map[bool]string{}
	for _, change := range []struct {
		what string
		make func()
	}{
		{"it was started", func() {}},
		{"the task runs", func() { f.report(t, spec.Running) }},
		{"its host is silent", func() { f.disconnected[hostID] = true }},
		{"its host is back", func() { delete(f.disconnected, hostID) }},
		{"its host is elsewhere", func() { f.apply(t, raftfsm.PutHost{Host: moved}) }},
		{"another tag", func() {
			f.apply(t, raftfsm.SetTags{Kind: spec.ResourceTask, ID: taskID, Put: []spec.Tag{{Key: "a", Value: "2"}}})
		}},
		{"the region", func() { f.region = "eu-central-1" }},
		{"the task ends", func() { f.report(t, spec.Stopped) }},
	} {
		change.make()
		for _, withTags := range []bool{false, true} {
			r := f.renderer()
			task := r.View.Task(taskID)
			first, err := cache.Task(r, task, withTags)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := cache.Task(f.renderer(), task, withTags); err != nil || again != first {
				t.Errorf("%s: nothing has changed, and it was rendered again, %v", change.what, err)
			}
			fresh, err := (*TaskCache)(nil).Task(f.renderer(), task, withTags)
			if err != nil || string(fresh.JSON) != string(first.JSON) {
				t.Errorf("%s:\ngot  %s\nwant %s, %v", change.what, first.JSON, fresh.JSON, err)
			}
			if withTags && string(first.JSON) == before[withTags] { // without tags another one is only seen by the version
				t.Errorf("%s: nothing is different: %s", change.what, first.JSON)
			}
			before[withTags] = string(first.JSON)
		}
	}
}

// ECS's rule: the essential containers decide, and the worst of them.
func TestTheHealthOfATask(t *testing.T) {
	const yes, no = spec.Healthy, spec.Unhealthy
	essential, side := true, false
	d := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{
		{Name: "a", Essential: &essential}, {Name: "b", Essential: &essential}, {Name: "side", Essential: &side},
	}}
	for _, c := range []struct {
		name       string
		a, b, side spec.Health
		want       string
	}{
		{"nothing is known", "", "", "", "UNKNOWN"},
		{"all are well", yes, yes, "", "HEALTHY"},
		{"one is not known", yes, "", yes, "UNKNOWN"},
		{"one is ill", "", no, yes, "UNHEALTHY"},
		{"only what is not essential is ill", yes, yes, no, "HEALTHY"},
		{"only what is not essential is well", "", "", yes, "UNKNOWN"},
	} {
		task := &spec.Task{Containers: []spec.Container{{Name: "a", Health: c.a}, {Name: "b", Health: c.b}, {Name: "side", Health: c.side}}}
		if got := taskHealth(task, d); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := taskHealth(task, nil); got != "UNKNOWN" {
			t.Errorf("%s: without the definition %s", c.name, got)
		}
	}
}

func TestATaskHasAttributesForItsRankIndexAndAttempt(t *testing.T) {
	index := 7
	for _, c := range []struct {
		task spec.Task
		want []spec.Attribute
	}{
		{spec.Task{}, []spec.Attribute{}},
		{spec.Task{ArrayIndex: &index}, []spec.Attribute{{Name: "pinion.array-index", Value: "7"}}},
		{spec.Task{Gang: &spec.GangMember{ID: "g", Rank: 3, Size: 4}}, []spec.Attribute{{Name: "pinion.gang", Value: "g"}, {Name: "pinion.rank", Value: "3"}}},
		{spec.Task{RetryOf: "f", Attempt: 2, Failed: 1}, []spec.Attribute{
			{Name: "pinion.retry-of", Value: "f"}, {Name: "pinion.attempt", Value: "2"}, {Name: "pinion.failed", Value: "1"},
		}},
	} {
		if got := taskAttributes(&c.task, nil); got == nil || !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}

// The check ACCELERATED_COMPUTE is where clients look for a sick GPU.
func TestTheHealthOfAnInstance(t *testing.T) {
	healthy, sick, noGPU := newHost(), newHost(), newHost()
	sick.GPUs.Devices[1].Health, sick.GPUs.Devices[1].Problem = "UNHEALTHY", "Xid 79"
	noGPU.GPUs = gpu.Inventory{}
	for name, c := range map[string]struct {
		host      spec.Host
		connected bool
		overall   string
		details   []string
	}{
		"all is well":           {healthy, true, "OK", []string{"CONTAINER_RUNTIME OK", "ACCELERATED_COMPUTE OK"}},
		"a GPU is sick":         {sick, true, "IMPAIRED", []string{"CONTAINER_RUNTIME OK", "ACCELERATED_COMPUTE IMPAIRED"}},
		"there are no GPUs":     {noGPU, true, "OK", []string{"CONTAINER_RUNTIME OK"}},
		"it is silent":          {healthy, false, "INSUFFICIENT_DATA", []string{"CONTAINER_RUNTIME INSUFFICIENT_DATA", "ACCELERATED_COMPUTE INSUFFICIENT_DATA"}},
		"it is silent and sick": {sick, false, "IMPAIRED", []string{"CONTAINER_RUNTIME INSUFFICIENT_DATA", "ACCELERATED_COMPUTE IMPAIRED"}},
	} {
		r := &Renderer{Now: func() time.Time { return epoch }}
		got := r.instanceHealth(&c.host, c.connected)
		var details []string
		for _, detail := range got.Details {
			details = append(details, detail.Type+" "+detail.Status)
		}
		if got.OverallStatus != c.overall || !slices.Equal(details, c.details) {
			t.Errorf("%s: %s %v", name, got.OverallStatus, details)
		}
	}
}

// An event is the same on every host, and says of a host what the state says.
func TestAnEventFollowsFromTheStateAlone(t *testing.T) {
	f := newFixture(t)
	f.run(t)
	f.disconnected[hostID] = true // which this host alone sees
	host := f.state.View().Host(hostID)
	r := &Renderer{Region: f.region, View: f.state.View(), Hosts: recordedConnectivity{f.state.View()}}
	if got := r.Instance(host, nil); !got.AgentConnected || got.PendingTasksCount != 1 {
		t.Errorf("%+v", got)
	}
	if got := f.renderer().Instance(host, nil); got.AgentConnected {
		t.Errorf("%+v", got)
	}
}

func TestATaskTellsWhoRanItAndItsPorts(t *testing.T) {
	f := newFixture(t)
	task := &spec.Task{ID: taskID, Cluster: spec.DefaultCluster, Definition: "f:1", Owner: &spec.TaskOwner{Key: "AKIA1"},
		Containers: []spec.Container{{Name: "a", Bindings: []spec.NetworkBinding{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}}}}
	key := spec.Attribute{Name: "pinion.key", Value: "AKIA1"}
	listed := f.renderer().ListedTask(task)
	if !slices.Contains(f.renderer().Task(task, false).Attributes, key) || !slices.Contains(listed.Attributes, key) || listed.Containers[0].Bindings[0].HostPort != 8080 {
		t.Errorf("%+v", listed)
	}
}
