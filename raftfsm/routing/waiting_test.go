package routing_test

import (
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/routing"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// Requests wait for a target that a service is about to have: while its tasks start, and when it is scaled to zero. For a group without a service,
// and for tasks that fail, they are answered at once, unless a tag of the group has them wait.
func TestRequestsWaitForWhatIsAboutToStart(t *testing.T) {
	const none, byDefault = -1, 0
	waiting := func(s *state, id string) int {
		for _, g := range routing.Compute(s.View()).Groups {
			if g.ID == id {
				return g.MaxWaiting
			}
		}
		t.Fatalf("no group %s", id)
		return 0
	}
	s := withService(t, "bridge")
	group := func(id string, tags ...spec.Tag) {
		s.must(raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: id, Name: id, Protocol: traffic.HTTP, Tags: tags}}))
	}
	group("other")
	group("nobody's")
	group("tagged", spec.Tag{Key: loadbalancer.TagMaxWaiting, Value: "7"})
	group("timed", spec.Tag{Key: loadbalancer.TagWaitTimeout, Value: "5s"})
	step := func(change func(*service.Service)) {
		after := *s.View().ServiceByID("s")
		after.Deployments = append([]service.Deployment(nil), after.Deployments...)
		change(&after)
		s.must(raftfsm.StepService{ServiceID: "s", Version: after.Version, Service: after})
	}
	found := func(state traffic.TargetState) {
		s.must(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: "t", Status: spec.Running, Targets: []traffic.TargetHealth{{Group: "other", Container: "none", Port: 8000, State: state}}}}})
	}
	for _, c := range []struct {
		name string
		do   func()
		want int
	}{
		{"its task starts", func() {}, byDefault},
		{"its task is unhealthy", func() { found(traffic.Unhealthy) }, none},
		{"its task is healthy", func() { found(traffic.Healthy) }, byDefault},
		{"its tasks have failed", func() {
			step(func(s *service.Service) { s.Primary().Waves, s.Primary().LastFailure = 1, time.Unix(9, 0) })
		}, none},
		{"its tasks have no place", func() {
			step(func(s *service.Service) { s.Primary().Waves, s.Conditions.Unplaced = 0, true })
		}, none},
		{"it is scaled from zero", func() {
			zero, one := 0, 1
			s.must(raftfsm.Wrap(scaling.ChangeTarget{Cluster: "default", Service: "web", Change: scaling.Change{Register: &scaling.Registration{Min: &zero, Max: &one}}}))
		}, byDefault},
	} {
		c.do()
		if got := waiting(s, "other"); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	for id, want := range map[string]int{"nobody's": none, "tagged": 7, "timed": byDefault, "g": none} {
		if got := waiting(s, id); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}
