package exporter

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/quarantine"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// hostWith is a host with healthy GPUs.
func hostWith(id string, gpus int) spec.Host {
	host := spec.Host{ID: id, Name: "name-of-" + id, Cluster: spec.DefaultCluster, Status: spec.HostActive, CPU: 64 << 10, MemoryMiB: 1 << 20, RegisteredAt: raftfsmtest.Epoch}
	for i := range gpus {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: fmt.Sprintf("GPU-%s-%d", id, i), Index: i, Model: "H100", MemoryMiB: 80 << 10, Health: gpu.Healthy})
	}
	return host
}

// taskOn is a task of a team at its place, with GPUs of that host; without a host it waits.
func taskOn(id, hostID, team string, gpus ...string) *spec.Task {
	task := &spec.Task{
		ID: id, Cluster: spec.DefaultCluster, HostID: hostID, Definition: "train:1", Group: "family:train", LaunchType: "EC2", CPU: 1024, MemoryMiB: 128,
		LastStatus: spec.Pending, DesiredStatus: spec.Running, Version: 1, CreatedAt: raftfsmtest.Epoch, Containers: []spec.Container{{ID: "c-" + id, Name: "main", Image: "i", GPUs: gpus, LastStatus: spec.Pending}},
		Tags: []spec.Tag{{Key: spec.TagTeam, Value: team}},
	}
	if hostID == "" {
		task.LastStatus, task.CapacityProvider, task.Containers[0].LastStatus = spec.Provisioning, spec.BuiltinCapacityProvider, spec.Provisioning
		task.Queue = &spec.QueueSpec{}
	}
	return task
}

// newPool has a definition for its tasks.
func newPool(t testing.TB) *raftfsmtest.State {
	s := raftfsmtest.New(t)
	s.Do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "train", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "main", Image: "i", Memory: 128}}}})
	return s
}

// scraped is what a scrape gets of a pool, ten minutes after it began, that does not hear of the hosts named.
func scraped(t testing.TB, s *raftfsmtest.State, silent ...string) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(New(Config{View: s.View, Connected: func(id string) bool { return !strings.Contains(strings.Join(silent, " "), id) }, Now: func() time.Time { return raftfsmtest.At(10) }}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

func wantSamples(t testing.TB, text string, samples ...string) {
	t.Helper()
	for _, sample := range samples {
		if !strings.Contains(text, "\n"+sample+"\n") {
			t.Errorf("no %s in\n%s", sample, text)
		}
	}
}

// Each GPU is in one state, which says why it is not allocated.
func TestWhyGPUsAreNotAllocated(t *testing.T) {
	s := newPool(t)
	busy, sick, draining := hostWith("busy", 4), hostWith("sick", 2), hostWith("draining", 1)
	sick.GPUs.Devices[0].Health = gpu.NeedsReset
	for _, host := range []spec.Host{busy, sick, draining, hostWith("silent", 2), hostWith("plain", 0)} {
		s.Do(raftfsm.PutHost{Host: host})
	}
	s.Do(raftfsm.SetHostStatus{ID: "draining", Status: spec.HostDraining})
	s.Do(raftfsm.SetGPUQuarantine{HostID: "busy", UUID: "GPU-busy-3", At: raftfsmtest.Epoch, Quarantine: &quarantine.GPU{}})
	s.Do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, At: raftfsmtest.Epoch, Tasks: []*spec.Task{taskOn("t1", "busy", "red", "GPU-busy-0", "GPU-busy-1")}}}})
	text := scraped(t, s, "silent")
	wantSamples(t, text,
		`pinion_gpus{cluster="default",model="H100",state="allocated"} 2`, `pinion_gpus{cluster="default",model="H100",state="free"} 2`, `pinion_gpus{cluster="default",model="H100",state="quarantined"} 1`, `pinion_gpus{cluster="default",model="H100",state="unhealthy"} 1`,
		`pinion_gpus{cluster="default",model="H100",state="draining"} 1`, `pinion_gpus{cluster="default",model="H100",state="down"} 2`,
		`pinion_hosts{cluster="default",state="up"} 3`, `pinion_hosts{cluster="default",state="down"} 1`, `pinion_hosts{cluster="default",state="draining"} 1`,
		`pinion_host_up{cluster="default",host="name-of-silent",host_id="silent"} 0`, `pinion_hosts_by_free_gpus{cluster="default",gpus="1"} 2`,
		`pinion_team_allocated_gpus{cluster="default",team="red"} 2`, `pinion_tasks{cluster="default",status="PENDING",team="red"} 1`,
	)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// Tasks that have stopped of late are told with their cause: nobody sees the container any more that ran out of memory.
func TestWhyTasksStopped(t *testing.T) {
	s := newPool(t)
	s.Do(raftfsm.PutHost{Host: hostWith("h", 0)})
	report := func(id, reason string, stopped int) spec.TaskReport {
		return spec.TaskReport{
			TaskID: id, Status: spec.Stopped, StopCode: spec.StopEssentialExited, Times: spec.TaskTimes{Stopped: raftfsmtest.At(stopped)},
			Containers: []spec.ContainerReport{{Name: "main", Status: spec.Stopped, ExitCode: new(137), Reason: reason}},
		}
	}
	for _, r := range []spec.TaskReport{report("now", spec.OutOfMemory+": killed", 9), report("long-ago", spec.OutOfMemory+": killed", -1), report("other", "", 5)} {
		s.Do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, At: raftfsmtest.Epoch, Tasks: []*spec.Task{taskOn(r.TaskID, "h", "red")}}}})
		s.Do(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{r}})
	}
	wantSamples(t, scraped(t, s),
		`pinion_stopped_tasks{cause="OutOfMemory",cluster="default",team="red"} 1`, `pinion_stopped_tasks{cause="EssentialContainerExited",cluster="default",team="red"} 1`)
}

// The queue is told by team and by what its tasks wait for.
func TestHowManyTasksWait(t *testing.T) {
	s := newPool(t)
	waits, held := taskOn("t1", "", "red"), taskOn("t2", "", "red")
	held.Hold = &spec.TaskHold{Reason: "later"}
	s.Do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, At: raftfsmtest.Epoch, Tasks: []*spec.Task{waits, held}}}})
	wantSamples(t, scraped(t, s),
		`pinion_queue_tasks{cluster="default",reason="place",team="red"} 1`, `pinion_queue_tasks{cluster="default",reason="release",team="red"} 1`, `pinion_queue_oldest_seconds{cluster="default",team="red"} 600`)
}

// Whatever users make, a scrape has a bound, and says what it leaves out.
func TestWhatUsersNameIsBounded(t *testing.T) {
	s := newPool(t)
	s.Do(raftfsm.PutHost{Host: hostWith("h", 0)})
	tasks := make([]*spec.Task, maxSeries+10)
	for i := range tasks {
		tasks[i] = taskOn(fmt.Sprintf("t%d", i), "", fmt.Sprintf("team-%d", i))
	}
	s.Do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, At: raftfsmtest.Epoch, Tasks: tasks}}})
	text := scraped(t, s)
	if got := strings.Count(text, "\npinion_queue_tasks{"); got != maxSeries {
		t.Errorf("%d series", got)
	}
	wantSamples(t, text, fmt.Sprintf("pinion_pool_omitted_series %d", 2*10))
	if len(text) > 2<<20 {
		t.Errorf("%d bytes", len(text))
	}
}

// A pool is counted once for the scrapes of some seconds, and more seldom when counting takes long.
func TestScrapesShareACount(t *testing.T) {
	s, counted := newPool(t), 0
	pool := New(Config{View: func() *raftfsm.View { counted++; return s.View() }, Connected: func(string) bool { return true }, Now: time.Now})
	for range 3 {
		ch := make(chan prometheus.Metric, 100)
		pool.Collect(ch)
		if len(ch) == 0 {
			t.Error("nothing was sent")
		}
	}
	if counted != 1 {
		t.Errorf("counted %d times", counted)
	}
}

// BenchmarkScrape is what a scrape costs the leader of 100 hosts with 8 GPUs each, all of which tasks have, and of 200 services.
func BenchmarkScrape(b *testing.B) {
	s := newPool(b)
	for h := range 100 {
		id := fmt.Sprintf("h%d", h)
		s.Do(raftfsm.PutHost{Host: hostWith(id, 8)})
		var tasks []*spec.Task
		for g := range 8 {
			tasks = append(tasks, taskOn(fmt.Sprintf("t%d-%d", h, g), id, fmt.Sprintf("team-%d", g), fmt.Sprintf("GPU-%s-%d", id, g)))
		}
		s.Do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, At: raftfsmtest.Epoch, Tasks: tasks}}})
	}
	for i := range 200 {
		s.Do(raftfsm.CreateService{Service: service.Service{ID: fmt.Sprintf("%032d", i), Cluster: spec.DefaultCluster, Name: fmt.Sprintf("service-%d", i), Status: service.Active, Desired: 1, Controller: service.External}})
	}
	bytes := 0
	for b.Loop() {
		bytes = len(scraped(b, s))
	}
	b.ReportMetric(float64(bytes), "bytes")
}
