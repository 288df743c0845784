package taskset

import (
	"testing"

	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
)

// ECS rounds up, and floating point numbers are no reason to.
func TestTheCountIsRoundedUp(t *testing.T) {
	for _, c := range []struct {
		desired int
		scale   scaling.Number
		want    int
	}{
		{0, "100", 0}, {10, "0", 0}, {10, "100", 10}, {10, "12", 2}, {10, "10", 1}, {3, "33.4", 2}, {3, "33.3", 1}, {1, "0.1", 1}, {5000, "0.02", 1}, {5000, "0.021", 2},
		{300, "0.7", 3}, {1000, "2.2", 22}, {5000, "100", 5000}, {7, "", 0},
	} {
		if got := (&Set{Scale: c.scale}).Count(c.desired); got != c.want {
			t.Errorf("%s %% of %d: %d, want %d", c.scale, c.desired, got, c.want)
		}
	}
}

// What ends has no tasks, whatever its scale.
func TestWhatEndsIsToHaveNoTasks(t *testing.T) {
	set, of := &Set{Scale: "100"}, &service.Service{Status: service.Active, Desired: 2}
	active, draining := &service.Deployment{Status: service.Replaced}, &service.Deployment{Status: service.DrainingSet}
	if set.Desired(of, active) != 2 || set.Desired(of, draining) != 0 || (*Set)(nil).Desired(of, active) != 0 {
		t.Error(set.Desired(of, active), set.Desired(of, draining))
	}
	of.Status = service.Draining
	if set.Desired(of, active) != 0 {
		t.Error("its service ends")
	}
}
