package service

import (
	"fmt"
	"testing"
)

func ptr[T any](v T) *T { return &v }

// The bounds of a deployment: of what is healthy and of all tasks, by what is configured, and by default.
func TestHowManyTasksADeploymentLeavesAndMakes(t *testing.T) {
	for _, c := range []struct {
		strategy     Strategy
		desired      int
		healthy      *int
		most         *int
		wantHealthy  int
		wantMostOfIt int
	}{
		{Replica, 3, nil, nil, 3, 6},
		{Replica, 3, ptr(50), ptr(150), 2, 4},
		{Replica, 8, ptr(87), ptr(100), 7, 8},
		{Replica, 0, nil, nil, 0, 0},
		{Daemon, 4, nil, nil, 0, 4},
		{Daemon, 4, ptr(50), ptr(200), 2, 8},
	} {
		s := Service{Strategy: c.strategy, Desired: c.desired}
		s.Settings.Deployment = DeploymentConfiguration{MinimumHealthyPercent: c.healthy, MaximumPercent: c.most}
		if healthy, most := s.MinHealthy(), s.MaxTasks(); healthy != c.wantHealthy || most != c.wantMostOfIt {
			t.Errorf("%+v: %d, %d", c, healthy, most)
		}
	}
}

// A daemon leaves all tasks but those that its drain percent lets it replace, rounded down, and one at least.
func TestHowManyTasksADaemonLeaves(t *testing.T) {
	for _, c := range []struct {
		desired int
		drain   int // thousandths
		want    int
	}{{8, 250, 6}, {9, 250, 7}, {3, 250, 2}, {1, 250, 0}, {0, 250, 0}, {8, 0, 7}, {8, 1000, 0}, {8, 125, 7}, {1000, 125, 875}} {
		s := Service{Name: "daemon/agent", Strategy: Daemon, Desired: c.desired}
		s.Settings.Deployment.DrainPerMille = &c.drain
		if got := s.MinHealthy(); got != c.want || s.NoCapacityPolicy() != Wait {
			t.Errorf("%+v: %d, %s", c, got, s.NoCapacityPolicy())
		}
	}
}

// The thresholds are those of Amazon's documentation: 1 -> 3, 25 -> 13, 400 and more -> 200.
func TestHowManyFailuresTripTheBreaker(t *testing.T) {
	on := func(kind string, value int) *CircuitBreaker {
		return &CircuitBreaker{Enable: true, Threshold: &Threshold{Type: kind, Value: value}}
	}
	for _, c := range []struct {
		desired int
		breaker *CircuitBreaker
		want    int
	}{
		{1, &CircuitBreaker{Enable: true}, 3}, {25, &CircuitBreaker{Enable: true}, 13}, {400, &CircuitBreaker{Enable: true}, 200},
		{5_000, on(ThresholdBounded, 100), 200}, {5_000, on(ThresholdUnbounded, 100), 5_000}, {0, on(ThresholdUnbounded, 50), 1},
		{5_000, on(ThresholdCount, 7), 7}, {25, nil, 0}, {25, &CircuitBreaker{Rollback: true}, 0},
	} {
		s := Service{Desired: c.desired}
		s.Settings.Deployment.Breaker = c.breaker
		if got := s.Threshold(); got != c.want {
			t.Errorf("%d tasks, %+v: %d", c.desired, c.breaker, got)
		}
	}
}

// Of the events of a service the newest stay, and adding some changes no record that others hold.
func TestTheNewestEventsStay(t *testing.T) {
	s := &Service{}
	for n := range MaxEvents + 1 {
		before := *s
		s.AddEvents(Event{Message: fmt.Sprint(n)})
		if len(before.Events) > 0 && len(s.Events) == len(before.Events) && before.Events[0].Message != "0" {
			t.Fatal("the previous record has changed")
		}
	}
	if len(s.Events) != MaxEvents || s.Events[0].Message != "1" || s.Events[MaxEvents-1].Message != fmt.Sprint(MaxEvents) {
		t.Errorf("%d events, %v to %v", len(s.Events), s.Events[0], s.Events[len(s.Events)-1])
	}
}
