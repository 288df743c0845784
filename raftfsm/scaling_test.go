package raftfsm

import (
	"fmt"
	"strings"
	"testing"

	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// scaled changes the scaling of service "web".
func scaled(id string, minute int, change scaling.Change) Command {
	return Wrap(scaling.ChangeTarget{Cluster: spec.DefaultCluster, Service: "web", Change: change, ID: id, At: at(minute)})
}

func between(least, most int) scaling.Change {
	return scaling.Change{Register: &scaling.Registration{Min: &least, Max: &most}}
}

func TestAScalableTargetKeepsItsServiceWithinItsCapacities(t *testing.T) {
	h := newHistory(t)
	refuse(t, h, scaled("a", 0, between(1, 4)), spec.ErrNotFound)
	h.create(t, 1)
	refuse(t, h, scaled("a", 0, scaling.Change{Register: &scaling.Registration{}}), scaling.ErrNoCapacities)
	refuse(t, h, scaled("a", 0, between(4, 1)), scaling.ErrRange)
	h.do(t, scaled("a", 1, between(2, 4)))
	s := h.web()
	if last := s.Events[len(s.Events)-1]; s.Desired != 2 || last.ID != "a" || last.Message != "(service web) has set its desired count to 2: minimum capacity was set to 2: 1 -> 2." {
		t.Fatalf("%d, %+v", s.Desired, last)
	}
	version := s.Version
	target := h.do(t, scaled("b", 2, scaling.Change{PutPolicy: &scaling.Policy{ID: "p", Name: "load"}})).(*scaling.Target)
	if h.web().Version != version || target.Policy("load") == nil || len(target.Activities) != 1 {
		t.Errorf("%+v", target)
	}
	h.do(t, scaled("c", 3, scaling.Change{Scale: &scaling.Decision{From: 2, To: 4, Cause: "busy"}}))
	if target = scaling.Find(h.View(), "svc"); h.web().Desired != 4 || target.Out != (scaling.Step{At: at(3), By: 2}) || target.Activity("c").Cause != "busy" {
		t.Errorf("%+v", target)
	}
	for name, move := range map[string]scaling.Decision{"of another count": {From: 2, To: 3}, "beyond the capacity": {From: 4, To: 5}, "below it": {From: 4, To: 1}, "to nowhere": {From: 4, To: 4}} {
		if _, err := h.try(t, scaled("d", 4, scaling.Change{Scale: &move})); err == nil {
			t.Errorf("a move %s was taken", name)
		}
	}
	h.do(t, DeleteService{Cluster: spec.DefaultCluster, Name: "web", Force: true, At: at(5)})
	if len(scaling.All(h.View())) != 0 {
		t.Error("the target outlives its service")
	}
}

func TestAScheduledActionChangesTheCapacities(t *testing.T) {
	h := newHistory(t)
	h.create(t, 3)
	refuse(t, h, scaled("a", 0, scaling.Change{DeletePolicy: "load"}), scaling.ErrNoTarget)
	h.do(t, scaled("a", 0, between(1, 4)))
	zero := 0
	h.do(t, scaled("b", 1, scaling.Change{PutAction: &scaling.ScheduledAction{ID: "1", Name: "night", Schedule: "cron(0 22 * * ? *)", Min: &zero, Max: &zero}}))
	again := h.do(t, scaled("b", 2, scaling.Change{PutAction: &scaling.ScheduledAction{ID: "2", Name: "night", Schedule: "cron(0 23 * * ? *)", Min: &zero, Max: &zero}})).(*scaling.Target)
	if night := again.Action("night"); night.ID != "1" || night.Schedule != "cron(0 23 * * ? *)" || !night.Done.Equal(at(2)) {
		t.Errorf("%+v", night)
	}
	h.do(t, scaled("c", 3, scaling.Change{Run: &scaling.Run{Action: "night"}}))
	s, target := h.web(), scaling.Find(h.View(), "svc")
	if s.Desired != 0 || target.Max != 0 || !strings.Contains(target.Activity("c").Cause, "maximum capacity was set to 0 by scheduled action night: 3 -> 0") {
		t.Errorf("%d, %+v", s.Desired, target)
	}
	refuse(t, h, scaled("d", 4, scaling.Change{Run: &scaling.Run{Action: "day"}}), scaling.ErrNoAction)
	h.do(t, scaled("e", 5, scaling.Change{DeleteAction: "night"}))
	refuse(t, h, scaled("e", 5, scaling.Change{DeleteAction: "night"}), scaling.ErrNoAction)
	if h.do(t, scaled("f", 6, scaling.Change{Deregister: true})).(*scaling.Target) != nil || scaling.Find(h.View(), "svc") != nil {
		t.Error("it is still there")
	}
}

// A scheduled action that would put the least capacity above the largest one has failed, for this time: it is not tried again.
func TestAScheduledActionWithoutRoomBetweenTheCapacitiesFails(t *testing.T) {
	h := newHistory(t)
	h.create(t, 3)
	h.do(t, scaled("a", 0, between(1, 4)))
	ten := 10
	h.do(t, scaled("b", 1, scaling.Change{PutAction: &scaling.ScheduledAction{ID: "1", Name: "day", Schedule: "cron(0 8 * * ? *)", Min: &ten}}))
	version := h.web().Version
	target := h.do(t, scaled("c", 2, scaling.Change{Run: &scaling.Run{Action: "day"}})).(*scaling.Target)
	failed := scaling.Activity{ID: "c", At: at(2), To: 3, Cause: "scheduled action day was due", Failed: "the least capacity is above the largest one: 10 and 4"}
	if got := target.Activity("c"); got == nil || *got != failed || !target.Action("day").Done.Equal(at(2)) {
		t.Errorf("%+v, %+v", got, target.Actions)
	}
	if s := h.web(); s.Version != version || target.Min != 1 || target.Max != 4 {
		t.Errorf("it has changed %+v, %+v", s, target)
	}
}

func TestTheRecordOfAScalableTargetIsBounded(t *testing.T) {
	h := newHistory(t)
	h.create(t, 1)
	h.do(t, scaled("a", 0, between(0, 2)))
	for i := range scaling.MaxPolicies {
		h.do(t, scaled("p", 0, scaling.Change{PutPolicy: &scaling.Policy{Name: fmt.Sprint(i)}}))
	}
	refuse(t, h, scaled("p", 0, scaling.Change{PutPolicy: &scaling.Policy{Name: "more"}}), spec.ErrLimit)
	h.do(t, scaled("p", 0, scaling.Change{PutPolicy: &scaling.Policy{Name: "7"}}))
	for i := range scaling.MaxActions {
		h.do(t, scaled("s", 0, scaling.Change{PutAction: &scaling.ScheduledAction{Name: fmt.Sprint(i)}}))
	}
	refuse(t, h, scaled("s", 0, scaling.Change{PutAction: &scaling.ScheduledAction{Name: "more"}}), spec.ErrLimit)
	for i := range scaling.MaxActivities + 9 {
		h.do(t, scaled(fmt.Sprint("m", i), i, scaling.Change{Scale: &scaling.Decision{From: 1 + i%2, To: 2 - i%2}}))
	}
	if target := scaling.Find(h.View(), "svc"); len(target.Activities) != scaling.MaxActivities || target.In.By != 1 {
		t.Errorf("%d activities, %+v", len(target.Activities), target.In)
	}
}

func TestADaemonIsNotScaled(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateService{service.Service{ID: "svc", Cluster: spec.DefaultCluster, Name: "web", Strategy: service.Daemon}, service.Revision{ID: "1", Definition: "gpu:1"}, service.Rollout{ID: "1"}})
	refuse(t, h, scaled("a", 0, between(1, 4)), service.ErrDaemon)
}
