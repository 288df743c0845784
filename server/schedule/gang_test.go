package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/hostport"
	"pinion/raftfsm/spec"
)

// gangOf is a request for a gang of count tasks, with a container for each number of GPUs.
func gangOf(count int, gpus ...int) Request {
	r := request(count, gpus...)
	r.Run.Tags = []spec.Tag{{Key: spec.TagGang, Value: "true"}}
	return r
}

// gangRequests are requests whose tasks have different ids.
func gangRequests(requests ...Request) []Request {
	all := ids()
	for i := range requests {
		requests[i].IDs = all
	}
	return requests
}

// in puts a host into a link domain and a rack.
func in(fabric, rack string) func(*spec.Host) {
	return func(h *spec.Host) {
		for name, value := range map[string]string{spec.AttributeFabric: fabric, spec.AttributeRack: rack} {
			if value != "" {
				h.Attributes[name] = value
			}
		}
	}
}

func TestAGangIsPlacedNearOneAnother(t *testing.T) {
	cases := []struct {
		name    string
		hosts   []Host
		request Request
		want    []string
	}{
		{"on one host that has room for all", []Host{host("a", 2), host("b", 4), host("c", 2)}, gangOf(4, 1), []string{"b", "b", "b", "b"}},
		{"on the one with least to spare", []Host{host("a", 8), host("b", 4), host("c", 6)}, gangOf(4, 1), []string{"b", "b", "b", "b"}},
		{"on as few hosts as do, the last one filled best", []Host{host("a", 2), host("b", 4), host("c", 3)}, gangOf(6, 1), []string{"b", "b", "b", "b", "a", "a"}},
		{"in one link domain, though a host elsewhere is bigger",
			[]Host{host("a", 3, in("x", "")), host("b", 2, in("y", "")), host("c", 2, in("y", ""))}, gangOf(4, 1), []string{"b", "b", "c", "c"}},
		{"in a named domain rather than among hosts that have none",
			[]Host{host("a", 4), host("b", 4), host("c", 2, in("y", "")), host("d", 2, in("y", ""))}, gangOf(4, 1), []string{"c", "c", "d", "d"}},
		{"in one rack of the domain",
			[]Host{host("a", 2, in("x", "1")), host("b", 2, in("x", "2")), host("c", 2, in("x", "2"))}, gangOf(4, 1), []string{"b", "b", "c", "c"}},
		{"in two domains when none has room for all, and neighbours have neighbouring ranks",
			[]Host{host("a", 1, in("x", "")), host("b", 3, in("y", "")), host("c", 2, in("z", ""))}, gangOf(5, 1), []string{"b", "b", "b", "c", "c"}},
		{"with several GPUs each", []Host{host("a", 4), host("b", 8)}, gangOf(3, 2, 1), []string{"b", "b", "a"}},
		{"on hosts of their own when ports or constraints want it", []Host{host("a", 8), host("b", 8), host("c", 8)}, distinctEach(gangOf(3, 1)), []string{"a", "b", "c"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { wantPlaces(t, plan(c.hosts, c.request), c.want...) })
	}
}

func distinctEach(r Request) Request {
	r.Run.Constraints = []spec.PlacementConstraint{{Type: spec.DistinctInstance}}
	return r
}

func TestAGangKnowsItsRanksAndHoldsAPort(t *testing.T) {
	r := gangOf(3, 1)
	r.Seed = 7
	taken := host("a", 4)
	taken.Free.Ports = hostport.Set{29507: true}
	d := plan([]Host{taken}, r)
	for rank, task := range d.Tasks {
		if seat := task.Gang; seat == nil || seat.Rank != rank || seat.Size != 3 || seat.Port != 29508 || seat.ID != d.Tasks[0].Gang.ID {
			t.Errorf("rank %d sits on %+v", rank, seat)
		}
		if holds := slices.Contains(task.Ports, 29508); holds != (rank == 0) {
			t.Errorf("rank %d holds %v", rank, task.Ports)
		}
	}
	if len(d.Tasks) != 3 {
		t.Fatalf("%+v", d)
	}
}

func TestTwoGangsOnOneHostHaveDifferentPorts(t *testing.T) {
	decisions := PlanOn([]Host{host("a", 4)}, gangRequests(gangOf(2, 1), gangOf(2, 1)))
	if a, b := decisions[0].Tasks[0].Gang.Port, decisions[1].Tasks[0].Gang.Port; a == b {
		t.Errorf("both have port %d", a)
	}
}

func TestAGangIsPlacedWholeOrNotAtAll(t *testing.T) {
	hosts := []Host{host("a", 2), host("b", 1)}
	decisions := PlanOn(hosts, gangRequests(gangOf(4, 1), request(3, 1)))
	if d := decisions[0]; len(d.Tasks) != 0 || len(d.Failures) == 0 {
		t.Fatalf("%+v", d)
	}
	for _, failure := range decisions[0].Failures {
		if failure.Reason != spec.ReasonGPU || !strings.Contains(failure.Detail, "needs 1 GPU, 0 free (when 3 tasks of the gang have a place") {
			t.Errorf("%+v", failure)
		}
	}
	wantPlaces(t, decisions[1], "b", "a", "a") // nothing was kept for the gang
}

func TestAGangThatNobodyAsksAboutIsRefusedWithoutAWord(t *testing.T) {
	r := gangOf(4, 1)
	r.Quiet = true
	hosts := []Host{host("a", 2), host("b", 1)}
	if d := plan(hosts, r); len(d.Tasks)+len(d.Failures) != 0 {
		t.Errorf("%+v", d)
	}
	wantPlaces(t, plan(append(hosts, host("c", 1)), r), "a", "a", "b", "c")
	hosts[0].Connected = false // its GPUs are free all the same
	if d := plan(append(hosts, host("c", 1)), r); len(d.Tasks)+len(d.Failures) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestAGangWithAStrategyFollowsIt(t *testing.T) {
	r := gangOf(4, 1)
	r.Run.Strategy = []spec.PlacementStrategy{{Type: "spread", Field: "instanceId"}}
	wantPlaces(t, plan([]Host{host("a", 4), host("b", 4)}, r), "a", "b", "a", "b")
	r.Run.Count = 9
	if d := plan([]Host{host("a", 4), host("b", 4)}, r); len(d.Tasks) != 0 {
		t.Errorf("%v", places(d))
	}
}

func TestStartTaskStartsAGangOnTheNamedHostsOrNowhere(t *testing.T) {
	r := gangOf(0, 1)
	r.Run.Hosts = []string{"b", "a"}
	d := plan([]Host{host("a", 1), host("b", 1)}, r)
	wantPlaces(t, d, "b", "a")
	if seat := d.Tasks[1].Gang; seat == nil || seat.Rank != 1 || seat.Size != 2 {
		t.Errorf("%+v", seat)
	}
	if d := plan([]Host{host("a", 1), host("b", 0)}, r); len(d.Tasks) != 0 || len(d.Failures) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestAnArrayIsNumbered(t *testing.T) {
	r := request(3, 1)
	r.Run.ArrayFrom = new(5)
	for i, task := range append(plan([]Host{host("a", 4)}, r).Tasks, NewPendingTasks(r)...) {
		if want := 5 + i%3; task.ArrayIndex == nil || *task.ArrayIndex != want {
			t.Errorf("task %d has number %v", i, task.ArrayIndex)
		}
	}
}

// A gang of any shape on any hosts: all tasks or none, never more than fits, and nothing left behind.
func TestGangsOfAnyShape(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var hosts []Host
		room := 0
		gpus := rapid.IntRange(1, 3).Draw(rt, "GPUs of a task")
		for i := range rapid.IntRange(1, 6).Draw(rt, "hosts") {
			n := rapid.IntRange(0, 8).Draw(rt, "GPUs")
			fabric, rack := rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "fabric"), rapid.SampledFrom([]string{"", "1", "2"}).Draw(rt, "rack")
			hosts = append(hosts, host(fmt.Sprintf("h%d", i), n, in(fabric, rack)))
			room += n / gpus
		}
		count := rapid.IntRange(1, 20).Draw(rt, "tasks")
		decisions := PlanOn(hosts, gangRequests(gangOf(count, gpus), request(room, gpus)))
		if placed := len(decisions[0].Tasks); placed != 0 && placed != count || (placed == count) != (count <= room) {
			rt.Fatalf("%d of %d tasks have places, there is room for %d", placed, count, room)
		}
		all := slices.Concat(decisions[0].Tasks, decisions[1].Tasks)
		if len(all) != room {
			rt.Fatalf("%d tasks were placed on room for %d", len(all), room)
		}
		held := map[string]bool{}
		for _, task := range all {
			for _, uuid := range task.GPUs() {
				if held[uuid] {
					rt.Fatalf("%s was given twice", uuid)
				}
				held[uuid] = true
			}
		}
	})
}
