package schedule

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// TestAHostSetThatFollowsIsTheOneBuiltAnew: whatever happened to hosts and tasks, the host set that was told change by change, and
// that planned meanwhile, is the fleet of the state, and plans the same.
func TestAHostSetThatFollowsIsTheOneBuiltAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newStateHistory(t)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			p.step()
			if rapid.IntRange(0, 3).Draw(t, "look") == 0 {
				p.follow()
				p.compare()
			}
		}
	})
}

// stateHistory is a state, and a fleet that follows it.
type stateHistory struct {
	*rapid.T
	state *raftfsm.State
	fleet *HostSet
	mark  raftfsm.Position
	tasks int
}

func newStateHistory(t *rapid.T) *stateHistory {
	p := &stateHistory{T: t, state: drawState(t)}
	p.apply(raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab"}})
	for _, gpus := range []int{0, 1, 2, 4} {
		p.apply(raftfsm.RegisterDefinition{Definition: *request(1, gpus).Definition})
	}
	p.rebuild()
	return p
}

func alwaysConnected(string) bool { return true }

func (p *stateHistory) rebuild() {
	view := p.state.View()
	p.fleet, p.mark = HostSetOf(view, alwaysConnected), raftfsm.PositionAfter(view.Index())
}

// apply records what may be refused.
func (p *stateHistory) apply(c raftfsm.Command) {
	_, _ = p.state.Apply(p.state.View().Index()+1, c)
}

func (p *stateHistory) follow() {
	changes, _, err := p.state.Changes(p.mark, 1<<20)
	if err != nil {
		p.Fatal(err)
	}
	if len(changes) > 0 {
		p.fleet.Apply(p.state.View(), changes, alwaysConnected)
		p.mark = changes[len(changes)-1].Position
	}
}

func (p *stateHistory) step() {
	steps := map[string]func(){
		"a host says what it is": p.putHost, "a host is something else to the pool": p.changeHost, "tasks are planned and recorded": p.launch,
		"tasks are queued": p.enqueue, "a task goes on": p.report, "some are forgotten": p.reap, "waiting tasks get places": p.placeWaiting,
	}
	steps[rapid.SampledFrom(slices.Sorted(maps.Keys(steps))).Draw(p.T, "step")]()
}

func (p *stateHistory) hostID() string {
	return fmt.Sprint("h", rapid.IntRange(0, 5).Draw(p.T, "host"))
}

func (p *stateHistory) putHost() {
	h := host(p.hostID(), rapid.IntRange(0, 8).Draw(p.T, "devices")).Host
	h.Cluster = rapid.SampledFrom([]string{spec.DefaultCluster, spec.DefaultCluster, "lab"}).Draw(p.T, "cluster")
	for d := range h.GPUs.Devices {
		h.GPUs.Devices[d].Health = rapid.SampledFrom([]gpu.Health{gpu.Healthy, gpu.Healthy, gpu.Unhealthy}).Draw(p.T, "health")
		for e := range h.GPUs.Devices[:d] {
			if kind := rapid.SampledFrom([]gpu.LinkKind{"", gpu.LinkSystem, gpu.LinkSwitch}).Draw(p.T, "link"); kind != "" {
				link := gpu.Link{Peer: h.GPUs.Devices[e].UUID, Kind: kind}
				h.GPUs.Devices[d].Links += gpu.PackLinks(link)
			}
		}
	}
	p.apply(raftfsm.PutHost{Host: *h})
}

func (p *stateHistory) changeHost() {
	id := p.hostID()
	p.apply(rapid.SampledFrom([]raftfsm.Command{
		raftfsm.SetHostStatus{ID: id, Status: spec.HostDraining}, raftfsm.SetHostStatus{ID: id, Status: spec.HostActive},
		raftfsm.MarkHostLost{ID: id, At: now}, raftfsm.RemoveHost{ID: id, Force: true, At: now},
	}).Draw(p.T, "change"))
}

func (p *stateHistory) requests() []Request {
	requests := drawRequests(p.T)
	for i := range requests {
		requests[i].Run.Cluster = rapid.SampledFrom([]string{spec.DefaultCluster, spec.DefaultCluster, "lab"}).Draw(p.T, "in")
		requests[i].IDs = p.id
	}
	return requests
}

func (p *stateHistory) id() string {
	p.tasks++
	return fmt.Sprintf("%032d", p.tasks)
}

// launch plans on the fleet as it is, which may be behind, and records some of it; the rest comes to nothing, also because
// somebody else was faster.
func (p *stateHistory) launch() {
	for _, d := range p.fleet.Plan(p.requests()) {
		if len(d.Tasks) == 0 {
			continue
		}
		if rapid.IntRange(0, 3).Draw(p.T, "rival") == 0 {
			for _, rival := range HostSetOf(p.state.View(), alwaysConnected).Plan(p.requests()) {
				p.apply(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: d.Tasks[0].Cluster, Tasks: rival.Tasks, At: now}}})
			}
			p.follow()
		}
		if rapid.IntRange(0, 3).Draw(p.T, "withdrawn") > 0 {
			run := raftfsm.Launch{Cluster: d.Tasks[0].Cluster, Tasks: d.Tasks, At: now}
			p.apply(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{run}})
		}
		p.dropUnrecorded(d)
	}
}

func (p *stateHistory) dropUnrecorded(d Decision) {
	view := p.state.View()
	for _, task := range d.Tasks {
		if known := view.Task(task.ID); known == nil || known.HostID == "" {
			p.fleet.DropTask(task)
		}
	}
}

func (p *stateHistory) enqueue() {
	r := drawRequests(p.T)[0]
	gpus := rapid.IntRange(1, 4).Draw(p.T, "revision") + 3 // behind the revisions of drawState
	task := newEvaluation(r).task("", &gpuGrant{gpus: make([][]string, len(r.Definition.Containers))}, spec.Provisioning)
	task.ID, task.Queue = p.id(), &spec.QueueSpec{}
	task.Definition, task.Containers = fmt.Sprint("work:", gpus), task.Containers[:1]
	p.apply(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: task.Cluster, Tasks: []*spec.Task{task}, At: now}}})
}

// placeWaiting plans a task that waits under its own id, and perhaps records its place.
func (p *stateHistory) placeWaiting() {
	view := p.state.View()
	for waiting := range view.QueuedTasks(spec.DefaultCluster) {
		r := request(1, 0)
		r.Definition = view.Definition(waiting.Definition)
		d := p.fleet.PlanFor(TemplateOf(r), []*spec.Task{waiting}, 0)
		if len(d.Tasks) == 1 && rapid.Bool().Draw(p.T, "recorded") {
			task := d.Tasks[0]
			place := spec.Placement{TaskID: task.ID, HostID: task.HostID, GPUs: [][]string{task.Containers[0].GPUs}, Ports: []int{9000}}
			p.apply(raftfsm.PlaceTasks{Groups: [][]spec.Placement{{place}}})
		}
		p.dropUnrecorded(d)
		return
	}
}

func (p *stateHistory) report() {
	tasks := p.state.View().Tasks("")
	if len(tasks) == 0 {
		return
	}
	task := rapid.SampledFrom(tasks).Draw(p.T, "task")
	if rapid.Bool().Draw(p.T, "stop") {
		p.apply(raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated, At: now})
	}
	status := rapid.SampledFrom([]spec.Status{spec.Running, spec.Stopping, spec.Stopped}).Draw(p.T, "status")
	report := spec.TaskReport{TaskID: task.ID, Status: status, Times: spec.TaskTimes{Stopped: now}}
	p.apply(raftfsm.ReportTasks{HostID: task.HostID, Reports: []spec.TaskReport{report}})
}

func (p *stateHistory) reap() { p.apply(raftfsm.Reap{Before: now.Add(time.Hour)}) }

func (p *stateHistory) compare() {
	rebuilt := HostSetOf(p.state.View(), alwaysConnected)
	for _, cluster := range []string{spec.DefaultCluster, "lab"} {
		p.compareClusters(p.fleet.cluster(cluster), rebuilt.cluster(cluster))
	}
	p.comparePlans(rebuilt)
}

func (p *stateHistory) compareClusters(followed, rebuilt *clusterHosts) {
	if len(followed.hosts) != len(rebuilt.hosts) || !maps.Equal(followed.pending, rebuilt.pending) {
		p.Fatalf("%d hosts and %v wait, want %d and %v", len(followed.hosts), followed.pending, len(rebuilt.hosts), rebuilt.pending)
	}
	if !slices.Equal(followed.profile.shapes, rebuilt.profile.shapes) || followed.profile.tasks != rebuilt.profile.tasks {
		p.Fatalf("it counts %v, want %v", followed.profile.shapes, rebuilt.profile.shapes)
	}
	for i, got := range followed.hosts {
		want := rebuilt.hosts[i]
		if got.Host != want.Host || got.Connected != want.Connected || got.idle != want.idle || got.at != i ||
			!slices.Equal(got.tasks, want.tasks) || !reflect.DeepEqual(got.Free, want.Free) || !slices.Equal(got.gpus.UUIDs(got.idle), want.gpus.UUIDs(want.idle)) {
			p.Fatalf("host %s is %+v, want %+v", want.Host.ID, got, want)
		}
	}
}

// comparePlans lets both plan the same, and a third one without boards; nothing of it is recorded.
func (p *stateHistory) comparePlans(rebuilt *HostSet) {
	requests, before := p.requests(), p.tasks
	plan := func(f *HostSet) []Decision {
		p.tasks = before
		return f.Plan(requests)
	}
	followed, anew := plan(p.fleet), plan(rebuilt)
	if !samePlaces(followed, anew) {
		p.Fatalf("the fleets plan %+v and %+v", followed, anew)
	}
	p.tasks = before
	if unranked := withoutRankings(HostSetOf(p.state.View(), alwaysConnected), requests); !samePlaces(unranked, anew) {
		p.Fatalf("looking at every host it is %+v, with boards %+v", unranked, anew)
	}
	for _, d := range followed {
		for _, task := range d.Tasks {
			p.fleet.DropTask(task)
		}
	}
}

func withoutRankings(f *HostSet, requests []Request) []Decision {
	var all []Decision
	for _, r := range requests {
		c := f.cluster(r.Run.Cluster)
		a := newEvaluation(r)
		a.fragmentation = c.profile.scorer()
		if len(r.Run.Hosts) > 0 || len(c.hosts) == 0 || a.parse(c.hosts) != nil {
			all = append(all, c.decideFirst(r))
		} else {
			all = append(all, c.runFullScan(a))
		}
	}
	return all
}
