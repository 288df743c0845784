package server

import (
	"testing"

	"pinion/raftfsm/spec"
)

// What runs where is read from the state, so constraints see tasks of earlier runs and of those recorded with them.
func TestConstraintsSeeWhatRunsOnTheHost(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 0)
	definition := define(t, s, 0)
	limited := func(c spec.PlacementConstraint) spec.RunRequest {
		r := runOf(definition)
		r.Constraints = []spec.PlacementConstraint{c}
		r.Strategy = []spec.PlacementStrategy{{Type: "random"}}
		return r
	}
	near := limited(spec.PlacementConstraint{Type: spec.MemberOf, Expression: "task:group == family:work"})
	alone := limited(spec.PlacementConstraint{Type: spec.DistinctInstance})

	if r := run(t.Context(), t, s, near); len(r.Tasks) != 0 || r.Failures[0].Reason != spec.ReasonConstraint {
		t.Errorf("there is no task to be near to: %+v", r)
	}
	first := run(t.Context(), t, s, alone)
	if len(first.Tasks) != 1 {
		t.Fatalf("the first is alone: %+v", first)
	}
	if r := run(t.Context(), t, s, alone); len(r.Tasks) != 0 || r.Failures[0].Reason != spec.ReasonDistinct {
		t.Errorf("the second is not: %+v", r)
	}
	if r := run(t.Context(), t, s, near); len(r.Tasks) != 1 {
		t.Errorf("now there is one: %+v", r)
	}
}
