package server

import (
	"testing"

	"pinion/raftfsm"
)

// What runs where is read from the state, so constraints see tasks of earlier runs and of those recorded with them.
func TestConstraintsSeeWhatRunsOnTheHost(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 0)
	definition := define(t, s, 0)
	limited := func(c raftfsm.PlacementConstraint) raftfsm.RunRequest {
		r := runOf(definition)
		r.Constraints = []raftfsm.PlacementConstraint{c}
		r.Strategy = []raftfsm.PlacementStrategy{{Type: "random"}}
		return r
	}
	near := limited(raftfsm.PlacementConstraint{Type: raftfsm.MemberOf, Expression: "task:group == family:work"})
	alone := limited(raftfsm.PlacementConstraint{Type: raftfsm.DistinctInstance})

	if r := run(t.Context(), t, s, near); len(r.Tasks) != 0 || r.Failures[0].Reason != raftfsm.ReasonConstraint {
		t.Errorf("there is no task to be near to: %+v", r)
	}
	first := run(t.Context(), t, s, alone)
	if len(first.Tasks) != 1 {
		t.Fatalf("the first is alone: %+v", first)
	}
	if r := run(t.Context(), t, s, alone); len(r.Tasks) != 0 || r.Failures[0].Reason != raftfsm.ReasonDistinct {
		t.Errorf("the second is not: %+v", r)
	}
	if r := run(t.Context(), t, s, near); len(r.Tasks) != 1 {
		t.Errorf("now there is one: %+v", r)
	}
}
