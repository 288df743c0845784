package metrics

import (
	"math"
	"testing"
	"time"

	"pinion/raftfsm/metric"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestTheMeasuresOfATaskAreTheSumOfWhatHostsReportedLately(t *testing.T) {
	s := NewStore()
	of := func(task string, value float64) metric.Report {
		return metric.Report{Tasks: []metric.Task{{TaskID: task, Name: "m", Value: value}}}
	}
	s.Put("h1", of("a", 1), now)
	s.Put("h1", of("a", 2), now.Add(time.Second))
	s.Put("h2", of("a", 4), now.Add(time.Second))
	s.Put("h3", of("b", -1), now)
	if sums := s.Sums(now.Add(2 * time.Second)); sums.Of[Key{"a", "m"}] != 6 || len(sums.Of) != 1 || len(sums.Waiting) != 0 {
		t.Errorf("%v", sums)
	}
	s.Put("h2", of("a", 8), now.Add(Fresh))
	if sums := s.Sums(now.Add(Fresh + 2*time.Second)); sums.Of[Key{"a", "m"}] != 8 {
		t.Errorf("an old report counts: %v", sums)
	}
	if s.Put("h2", of("a", 8), now.Add(3*Fresh)); len(s.reports) != 1 {
		t.Errorf("%d reports are kept", len(s.reports))
	}
}

func TestWaitingRequestsWakeTheLeaderOnce(t *testing.T) {
	s := NewStore()
	for range 3 {
		s.Put("h1", metric.Report{Waiting: []metric.Waiting{{Group: "svc", Requests: 2}, {Group: "none", Requests: -5}, {Group: "many", Requests: math.MaxInt}, {Group: "many", Requests: math.MaxInt}}}, now)
	}
	<-s.Waiting()
	select {
	case <-s.Waiting():
		t.Error("it is woken twice for the same")
	default:
	}
	if waiting := s.Sums(now).Waiting; waiting["svc"] != 2 || waiting["none"] != 0 || waiting["many"] <= 0 {
		t.Errorf("%v", waiting)
	}
}
