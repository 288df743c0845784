package taskdef

import (
	"errors"
	"strings"
	"testing"

	"pinion/api/ecs/field"
	"pinion/raftfsm/spec"
)

func TestConstraintsAreChecked(t *testing.T) {
	distinct := spec.PlacementConstraint{Type: spec.DistinctInstance}
	for _, c := range []struct {
		constraints  []spec.PlacementConstraint
		ofDefinition int
		path, says   string
	}{
		{[]spec.PlacementConstraint{{Type: spec.MemberOf, Expression: "attribute:a = b"}}, 0, "placementConstraints[0].expression", "column 13"},
		{[]spec.PlacementConstraint{distinct, {Type: spec.MemberOf}}, 0, "placementConstraints[1].expression", "empty"},
		{[]spec.PlacementConstraint{{Type: spec.MemberOf, Expression: "attribute:gpu =~ '(?!a10).*'"}}, 0, "placementConstraints[0].expression", "look-around"},
		{[]spec.PlacementConstraint{{Type: spec.DistinctInstance, Expression: "x"}}, 0, "placementConstraints[0].expression", `"x"`},
		{[]spec.PlacementConstraint{{Type: "near"}}, 0, "placementConstraints[0].type", `"near"`},
		{[]spec.PlacementConstraint{distinct, distinct}, 9, "placementConstraints", "at most 10 items, those of the task definition included, not 11"},
	} {
		err := CheckConstraints(c.constraints, c.ofDefinition)
		wrong, ok := errors.AsType[*field.Error](err)
		if !ok || wrong.Path != c.path || !strings.Contains(wrong.Message, c.says) {
			t.Errorf("%v: %v, want what is wrong with %s: %s", c.constraints, err, c.path, c.says)
		}
	}
	if err := CheckConstraints([]spec.PlacementConstraint{distinct, {Type: spec.MemberOf, Expression: "attribute:a == b"}}, 8); err != nil {
		t.Error(err)
	}
	err := checkDefinitionConstraints([]spec.PlacementConstraint{distinct})
	if wrong, ok := errors.AsType[*field.Error](err); !ok || wrong.Path != "placementConstraints[0].type" || !strings.Contains(wrong.Message, "Give it to RunTask") {
		t.Errorf("distinctInstance in a definition: %v", err)
	}
}
