package schedule

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// TestWhatIsPlannedIsAlwaysAccepted: the planner and the state ask the same Fits, so a plan made on a view is recorded
// without a refusal when nothing comes between; and it is the same plan each time.
func TestWhatIsPlannedIsAlwaysAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		state := drawState(t)
		for pass := range 3 {
			view, requests := state.View(), drawRequests(t)
			next := ids()
			for i := range requests {
				requests[i].IDs = func() string { return fmt.Sprint(pass, "-", next()) }
			}
			decisions := PlanOn(hostsOf(view), requests)
			if again := PlanOn(hostsOf(view), requests); !samePlaces(decisions, again) {
				t.Fatalf("planned twice: %+v and %+v", decisions, again)
			}
			check(t, requests, decisions)
			record(t, state, decisions)
		}
	})
}

func drawState(t *rapid.T) *raftfsm.State {
	state := raftfsm.NewState()
	apply(t, state, raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	for range 3 { // the revision that requests name
		apply(t, state, raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "work"}})
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "hosts") {
		h := host(fmt.Sprint("h", i), rapid.IntRange(0, 8).Draw(t, "devices")).Host
		for d := range h.GPUs.Devices {
			h.GPUs.Devices[d].Health = rapid.SampledFrom([]gpu.Health{gpu.Healthy, gpu.Healthy, gpu.Unhealthy}).Draw(t, "health")
		}
		apply(t, state, raftfsm.PutHost{Host: *h})
	}
	return state
}

func drawRequests(t *rapid.T) []Request {
	var requests []Request
	for range rapid.IntRange(1, 4).Draw(t, "requests") {
		gpus := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 3).Draw(t, "gpus")
		r := request(rapid.IntRange(1, 10).Draw(t, "count"), gpus...)
		r.Definition.Containers[0].CPU = rapid.Int64Range(0, 2000).Draw(t, "cpu")
		r.Definition.Containers[0].PortMappings = []spec.PortMapping{{HostPort: rapid.IntRange(0, 2).Draw(t, "port")}}
		if rapid.Bool().Draw(t, "limited") {
			expression := rapid.SampledFrom([]string{"attribute:pinion.gpu.count > 1", "not(task:group == g)", "runningTasksCount == 0", ""}).Draw(t, "constraint")
			strategy := rapid.SampledFrom([]string{"random", "spread instanceId", "binpack gpu"}).Draw(t, "strategy")
			r = inGroup(by(limited(r, expression), strategy), "g")
			r.Seed = rapid.Uint64().Draw(t, "seed")
		}
		if rapid.Bool().Draw(t, "start") {
			r.Run.Hosts = rapid.SliceOfN(rapid.SampledFrom([]string{"h0", "h1", "h2", "h9"}), 1, 4).Draw(t, "on")
		}
		requests = append(requests, r)
	}
	return requests
}

func hostsOf(v *raftfsm.View) []Host {
	var hosts []Host
	for _, h := range v.Hosts("") {
		hosts = append(hosts, Host{Host: h, Free: v.Free(h.ID), Connected: true, Tasks: func() []*spec.Task { return v.TasksOn(h.ID) }})
	}
	return hosts
}

// check: nothing is lost and nothing is given twice: a task for each that was asked, or failures.
func check(t *rapid.T, requests []Request, decisions []Decision) {
	for i, d := range decisions {
		wanted := requests[i].Run.Count
		if n := len(requests[i].Run.Hosts); n > 0 {
			wanted = n
		}
		if len(d.Tasks) > wanted || (len(d.Tasks) < wanted && len(d.Failures) == 0) || (len(d.Tasks) == wanted && len(d.Failures) > 0) {
			t.Fatalf("%d wanted, %d placed, %d failures", wanted, len(d.Tasks), len(d.Failures))
		}
		for _, task := range d.Tasks {
			for c, want := range spec.DemandOf(requests[i].Definition).GPUs {
				if got := task.Containers[c].GPUs; len(got) != want {
					t.Fatalf("container %d got %v, wants %d", c, got, want)
				}
			}
		}
	}
}

func samePlaces(a, b []Decision) bool {
	for i := range a {
		if !reflect.DeepEqual(places(a[i]), places(b[i])) || !reflect.DeepEqual(a[i].Failures, b[i].Failures) {
			return false
		}
		for n := range a[i].Tasks {
			if !reflect.DeepEqual(a[i].Tasks[n].GPUs(), b[i].Tasks[n].GPUs()) {
				return false
			}
		}
	}
	return true
}

func record(t *rapid.T, state *raftfsm.State, decisions []Decision) {
	var entry raftfsm.LaunchTasks
	for _, d := range decisions {
		entry.Runs = append(entry.Runs, raftfsm.Launch{Cluster: spec.DefaultCluster, Tasks: d.Tasks})
	}
	for _, result := range apply(t, state, entry).([]raftfsm.LaunchResult) {
		if result.Conflict != "" || result.Err != nil {
			t.Fatalf("the state refuses what was planned: %s, %v", result.Conflict, result.Err)
		}
	}
}

func apply(t *rapid.T, state *raftfsm.State, c raftfsm.Command) any {
	answer, err := state.Apply(state.View().Index()+1, c)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
