package alarm_test

import (
	"fmt"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/spec"
)

// busy is an alarm for the CPU of service web.
func busy(name string, minute int) alarm.Alarm {
	return alarm.Alarm{
		Name: name, Cluster: spec.DefaultCluster, Service: "web", Metric: scaling.Metric{Namespace: scaling.NamespaceECS, Name: string(metric.CPU)},
		Period: 60, Periods: 3, Comparison: alarm.Greater, Threshold: "70", ConfiguredAt: raftfsmtest.At(minute), State: alarm.State{Value: alarm.InsufficientData},
	}
}

func TestAnAlarmThatIsConfiguredAnewKeepsItsStateAndTags(t *testing.T) {
	s := raftfsmtest.New(t)
	raftfsmtest.Change(s, alarm.Put{Alarm: busy("busy", 1)})
	s.Do(raftfsm.SetTags{Kind: alarm.Resource, ID: "busy", Put: []spec.Tag{{Key: "k", Value: "v"}}})
	state := alarm.State{Value: alarm.InAlarm, Reason: "r", At: raftfsmtest.At(2)}
	raftfsmtest.Change(s, alarm.SetState{Name: "busy", ConfiguredAt: raftfsmtest.At(1), State: state})
	again := busy("busy", 3)
	again.Threshold = "80"
	raftfsmtest.Change(s, alarm.Put{Alarm: again})
	raftfsmtest.Refuse(s, alarm.SetState{Name: "busy", ConfiguredAt: raftfsmtest.At(1)}, spec.ErrNotFound)
	if got := alarm.Find(s.View(), "busy"); got.State != state || got.Threshold != "80" || len(got.Tags) != 1 {
		t.Errorf("%+v", got)
	}
}

// Two who put an alarm of one name at once are decided by the state: the second does not get the first one's alarm, unless it might change that one.
func TestAnAlarmBecomesOneOfAnotherServiceKnowinglyAlone(t *testing.T) {
	s := raftfsmtest.New(t)
	raftfsmtest.Change(s, alarm.Put{Alarm: busy("busy", 1)})
	other := busy("busy", 2)
	other.Cluster, other.Service = "lab", "lab"
	raftfsmtest.Refuse(s, alarm.Put{Alarm: other}, alarm.ErrOthers)
	raftfsmtest.Refuse(s, alarm.Put{Alarm: other, Over: raftfsmtest.At(5)}, alarm.ErrOthers)
	raftfsmtest.Change(s, alarm.Put{Alarm: other, Over: raftfsmtest.At(1)})
	if got := alarm.Find(s.View(), "busy"); got.Service != "lab" {
		t.Errorf("%+v", got)
	}
}

func TestAlarmsOfAService(t *testing.T) {
	s := raftfsmtest.New(t)
	other, requests := busy("other", 1), busy("requests", 1)
	other.Service, requests.Metric = "api", scaling.Metric{Namespace: scaling.Namespace, Name: string(metric.InFlight)}
	raftfsmtest.Change(s, alarm.Put{Alarm: busy("busy", 1)})
	raftfsmtest.Change(s, alarm.Put{Alarm: other})
	if got := alarm.OfService(s.View(), spec.DefaultCluster, "web"); len(got) != 1 || got[0].Name != "busy" || alarm.AnyOfProxies(s.View()) {
		t.Errorf("%v", got)
	}
	if raftfsmtest.Change(s, alarm.Put{Alarm: requests}); !alarm.AnyOfProxies(s.View()) {
		t.Error("no proxy is asked")
	}
	raftfsmtest.Refuse(s, alarm.Delete{Names: []string{"busy", "none"}}, spec.ErrNotFound)
	raftfsmtest.Change(s, alarm.Delete{Names: []string{"busy", "requests", "busy"}})
	if got := alarm.All(s.View()); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestAlarmsAreBounded(t *testing.T) {
	s := raftfsmtest.New(t)
	for i := range alarm.Max {
		raftfsmtest.Change(s, alarm.Put{Alarm: busy(fmt.Sprint(i), 1)})
	}
	raftfsmtest.Refuse(s, alarm.Put{Alarm: busy("one more", 1)}, alarm.ErrTooMany)
	raftfsmtest.Change(s, alarm.Put{Alarm: busy("7", 2)})
}

func TestWhatBreachesAThreshold(t *testing.T) {
	for comparison, want := range map[alarm.Comparison][3]bool{
		alarm.GreaterOrEqual: {false, true, true}, alarm.Greater: {false, false, true}, alarm.Less: {true, false, false}, alarm.LessOrEqual: {true, true, false},
	} {
		a := busy("a", 1)
		a.Comparison = comparison
		if got := [3]bool{a.Breaches(69), a.Breaches(70), a.Breaches(71)}; got != want {
			t.Errorf("%s: %v", comparison, got)
		}
	}
}
