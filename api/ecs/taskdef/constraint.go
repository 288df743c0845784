package taskdef

import (
	"pinion/api/ecs/field"
	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

// maxConstraints is ECS's limit for the placement constraints of a definition and a call together.
const maxConstraints = 10

// checkDefinitionConstraints: a definition says where its tasks may go, not how they stand to each other.
func checkDefinitionConstraints(constraints []spec.PlacementConstraint) error {
	for i, c := range constraints {
		if c.Type == spec.DistinctInstance {
			return field.Errorf(field.Join(field.Index("placementConstraints", i), "type"), "Create TaskDefinition: constraint.type 'distinctInstance' is not supported. Give it to RunTask.")
		}
	}
	return CheckConstraints(constraints, 0)
}

// CheckConstraints checks the placement constraints of a call whose definition has some of its own.
func CheckConstraints(constraints []spec.PlacementConstraint, ofDefinition int) error {
	if all := len(constraints) + ofDefinition; all > maxConstraints {
		return field.Errorf("placementConstraints", "placementConstraints can have at most %d items, those of the task definition included, not %d.", maxConstraints, all)
	}
	for i, c := range constraints {
		path := field.Index("placementConstraints", i)
		switch c.Type {
		case spec.DistinctInstance:
			if c.Expression != "" {
				return field.Errorf(field.Join(path, "expression"), "A placement constraint of type distinctInstance has no expression. Remove %q.", c.Expression)
			}
		case spec.MemberOf:
			if _, err := query.Parse(c.Expression); err != nil {
				return field.Errorf(field.Join(path, "expression"), "Invalid expression of a placement constraint: %v, in %q.", err, c.Expression)
			}
		default:
			return field.Errorf(field.Join(path, "type"), "placementConstraints.type must be one of memberOf, distinctInstance, not %q", c.Type)
		}
	}
	return nil
}
