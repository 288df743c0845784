package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/query"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// zoned gives the hosts, and those that come, availability zones in turn.
func (p *pool) zoned(zones ...string) {
	p.zones = zones
	for i, host := range p.View().Hosts("") {
		p.putHost(i, len(host.GPUs.Devices))
	}
}

// zone is that of a host.
func (p *pool) zone(host string) string {
	zone, _ := p.View().Host(host).Attribute(spec.AttributeZone)
	return zone
}

// zonesFor are the zones of the hosts that take tasks: each could run any, and has room where a GPU is free.
func (p *pool) zonesFor(*spec.Task) (zones []Zone) {
	for _, host := range p.View().Hosts("") {
		name := p.zone(host.ID)
		if name == "" || host.Status == spec.HostDraining || host.Lost() {
			continue
		}
		at := slices.IndexFunc(zones, func(z Zone) bool { return z.Name == name })
		if at < 0 {
			at, zones = len(zones), append(zones, Zone{Name: name})
		}
		zones[at].HasRoom = zones[at].HasRoom || len(p.View().Free(host.ID).GPUs) > 0
	}
	slices.SortFunc(zones, func(a, b Zone) int { return strings.Compare(a.Name, b.Name) })
	return zones
}

// meets reports whether a host meets the constraints of a task.
func (p *pool) meets(t *spec.Task, host *spec.Host) bool {
	for _, c := range t.Queue.Constraints {
		e, err := query.Parse(c.Expression)
		if err != nil {
			p.t.Fatalf("%s: %v", c.Expression, err)
		}
		if !e.Match(query.HostFacts{Host: host}) {
			return false
		}
	}
	return true
}

// inZones counts the live tasks by zone.
func (p *pool) inZones() map[string]int {
	tasks := map[string]int{}
	for _, t := range p.live() {
		if t.HostID != "" {
			tasks[p.zone(t.HostID)]++
		}
	}
	return tasks
}

// checkBalanced fails when a zone has at least two tasks more than another one that has room.
func (p *pool) checkBalanced(want bool) {
	p.t.Helper()
	tasks, balanced := p.inZones(), true
	for _, zone := range p.zonesFor(nil) {
		for of, n := range tasks {
			balanced = balanced && !(zone.HasRoom && of != "" && n-tasks[zone.Name] >= 2)
		}
	}
	if balanced != want {
		p.t.Fatalf("balanced: %t, want %t: %v of %+v; %+v", balanced, want, tasks, p.zonesFor(nil), p.web().Events)
	}
}

// rebalanced is a service whose tasks are all in zone a: zone b came later. It may have one task more than it is to have, or as many as most percent.
func rebalanced(t *testing.T, desired, most int) *pool {
	p := newPool(t, 1, 8)
	p.zoned("a", "b")
	settings := percents(100, most)
	settings.Rebalancing = service.Rebalanced
	p.create(service.Service{Desired: desired, Settings: settings}, "good:1")
	p.run(15)
	p.checkBalanced(true)
	return p
}

// Tasks move to a zone that has come, one at a time: the new one is healthy before the old one stops.
func TestTasksMoveToTheZoneThatHasFewer(t *testing.T) {
	p := rebalanced(t, 5, 200)
	p.putHost(1, 8)
	for range 120 {
		if p.run(1); len(p.healthy()) < 5 || len(p.live()) > 6 {
			t.Fatalf("%d are healthy, %d live", len(p.healthy()), len(p.live()))
		}
	}
	if got := p.inZones(); got["a"] != 3 || got["b"] != 2 || len(p.live()) != 5 {
		t.Fatalf("%v", got)
	}
	for says, times := range map[string]int{
		"is not AZ balanced with 5 tasks in a, 0 tasks in b. AZ Rebalancing in progress.": 1, "has started 1 tasks in b to AZ Rebalance: (task ": 2,
		"has stopped 1 running tasks in a due to AZ rebalancing: (task ": 2, "is AZ balanced with 3 tasks in a, 2 tasks in b.": 1,
	} {
		if p.said(says) != times {
			t.Errorf("%q was not said %d times: %+v", says, times, p.web().Events)
		}
	}
	if s := p.web(); s.Primary().State != service.Completed || s.Primary().FailedTasks != 0 {
		t.Errorf("%+v", s.Primary())
	}
	before := p.steps
	if p.run(600); p.steps != before {
		t.Errorf("%d entries for nothing", p.steps-before)
	}
}

// What keeps tasks where they are is said once: zones without a free GPU, protection, and a maximumPercent without room for one more. Whatever the
// zones are like, nothing is moved while a deployment is in progress.
func TestTasksStayWhere(t *testing.T) {
	for name, c := range map[string]struct {
		most int
		keep func(p *pool)
		says string
	}{
		"the other zone is full": {200, func(p *pool) { p.putHost(1, 0) }, "is unable to place a task in b"},
		"all are protected": {200, func(p *pool) {
			for _, task := range p.live() {
				p.do(raftfsm.ProtectTasks{Cluster: spec.DefaultCluster, Tasks: []string{task.ID}, Until: p.now.Add(2 * time.Hour)})
			}
			p.putHost(1, 8)
		}, "was unable to scale in due to task protection"},
		"there may be none beside them": {110, func(p *pool) { p.putHost(1, 8) }, "maximumPercent lets it run 5 tasks"},
		"a deployment is in progress":   {200, func(p *pool) { p.deploy("broken:1"); p.putHost(1, 8) }, "has started 5 tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			p := rebalanced(t, 5, c.most)
			said := p.said(c.says)
			c.keep(p)
			for range 60 {
				p.now = p.now.Add(time.Minute) // it looks again
				p.reconcile()
			}
			if got := p.inZones(); got["a"] != 5 || got["b"] != 0 || p.said(c.says) != said+1 || p.said("to AZ Rebalance:") > 0 {
				t.Errorf("%v, %+v", got, p.web().Events)
			}
		})
	}
}

// A task that the queue does not place, though the zone had room, is taken back; the next one is started much later.
func TestATaskThatFindsNoPlaceInItsZoneIsTakenBack(t *testing.T) {
	p := rebalanced(t, 2, 200)
	p.putHost(1, 1)
	p.reconcile()
	p.putHost(1, 0) // another task has the GPU
	p.run(60)
	if len(p.live()) != 2 || p.said("to AZ Rebalance") != 1 || p.said("is unable to place a task in b") != 1 || p.said("has stopped 1 pending tasks") != 1 {
		t.Fatalf("%+v", p.web().Events)
	}
	p.putHost(1, 1)
	if p.run(60); p.said("to AZ Rebalance") != 1 {
		t.Fatal("it was started again at once")
	}
	p.now = p.now.Add(queueRetry)
	if p.run(60); p.inZones()["b"] != 1 || len(p.live()) != 2 {
		t.Errorf("%v, %+v", p.inZones(), p.web().Events)
	}
}

// A service that is scaled in gives up tasks of the zone that has most, and no move is left behind.
func TestScalingInKeepsTheZonesEven(t *testing.T) {
	p := rebalanced(t, 6, 200)
	p.putHost(1, 8)
	p.run(5) // in the middle of a move
	p.scale(3)
	p.run(120)
	p.checkBalanced(true)
	p.scale(6)
	p.run(60)
	p.scale(2)
	p.run(5)
	if got := p.inZones(); got["a"] != 1 || got["b"] != 1 {
		t.Errorf("%v, %+v", got, p.web().Events)
	}
}

// Tasks of a service without a placement strategy are spread over the zones as on ECS; a user's strategy stays.
func TestRebalancedTasksAreSpreadFromTheBeginning(t *testing.T) {
	p := rebalanced(t, 1, 200)
	p.putHost(1, 8)
	p.scale(2)
	p.reconcile()
	waiting := p.live()[slices.IndexFunc(p.live(), func(t *spec.Task) bool { return t.HostID == "" })]
	if got := waiting.Queue.Strategy; !slices.Equal(got, []spec.PlacementStrategy{service.SpreadOverZones}) {
		t.Errorf("%+v", got)
	}
}
