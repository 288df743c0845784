package ecs

import (
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

// ECS's limits for where tasks may go.
const (
	maxConstraints = 10 // of the definition and the call together
	maxStrategies  = 5
)

// checkDefinitionConstraints: a definition says where its tasks may go, not how they stand to each other.
func checkDefinitionConstraints(constraints []spec.PlacementConstraint) error {
	for _, c := range constraints {
		if c.Type == spec.DistinctInstance {
			return wire.Errorf(wire.Client, "Create TaskDefinition: constraint.type 'distinctInstance' is not supported. Give it to RunTask.")
		}
	}
	return checkConstraints(constraints, 0)
}

// checkConstraints looks at the constraints of a call whose definition has some of its own.
func checkConstraints(constraints []spec.PlacementConstraint, ofDefinition int) error {
	if all := len(constraints) + ofDefinition; all > maxConstraints {
		return wire.Errorf(wire.InvalidParameter, "placementConstraints can have at most %d items, those of the task definition included, not %d.", maxConstraints, all)
	}
	for _, c := range constraints {
		switch c.Type {
		case spec.DistinctInstance:
			if c.Expression != "" {
				return wire.Errorf(wire.InvalidParameter, "A placement constraint of type distinctInstance has no expression. Remove %q.", c.Expression)
			}
		case spec.MemberOf:
			if _, err := query.Parse(c.Expression); err != nil {
				return wire.Errorf(wire.InvalidParameter, "Invalid expression of a placement constraint: %v, in %q.", err, c.Expression)
			}
		default:
			return wire.Errorf(wire.InvalidParameter, "placementConstraints.type must be one of memberOf, distinctInstance, not %q", c.Type)
		}
	}
	return nil
}

// parseStrategies are checked and written in one way: ECS takes fields in capitals too, and host for instanceId.
func parseStrategies(given []spec.PlacementStrategy) ([]spec.PlacementStrategy, error) {
	if len(given) > maxStrategies {
		return nil, wire.Errorf(wire.InvalidParameter, "placementStrategy can have at most %d items, not %d.", maxStrategies, len(given))
	}
	var all []spec.PlacementStrategy
	for _, s := range given {
		var err error
		switch s.Type {
		case "random":
			s.Field = "" // it has no use for one, and ECS does not mind
		case "binpack":
			s.Field, err = parseBinpackField(s.Field)
		case "spread":
			s.Field, err = parseSpreadField(s.Field)
		default:
			err = wire.Errorf(wire.InvalidParameter, "placementStrategy.type must be one of random, spread, binpack, not %q", s.Type)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// parseBinpackField: gpu is Pinion's own.
func parseBinpackField(field string) (string, error) {
	switch lower := strings.ToLower(field); lower {
	case "cpu", "memory", "gpu":
		return lower, nil
	}
	return "", wire.Errorf(wire.InvalidParameter, "placementStrategy.field of binpack must be one of cpu, memory, gpu, not %q", field)
}

func parseSpreadField(field string) (string, error) {
	if name, ok := strings.CutPrefix(field, "attribute:"); ok && name != "" {
		return field, nil
	}
	switch strings.ToLower(field) {
	case "instanceid", "host":
		return "instanceId", nil
	}
	return "", wire.Errorf(wire.InvalidParameter, "placementStrategy.field of spread must be attribute:NAME, instanceId or host, not %q", field)
}

// addPlacement adds to the request where its tasks may go and what is best.
func (in *runInput) addPlacement(request *spec.RunRequest, d *spec.TaskDefinition) (err error) {
	if err := checkConstraints(in.PlacementConstraints, len(d.PlacementConstraints)); err != nil {
		return err
	}
	request.Constraints = in.PlacementConstraints
	request.Strategy, err = parseStrategies(in.PlacementStrategy)
	return err
}

// hostFilter makes the filter of ListContainerInstances; an empty one selects every host.
func (c *Request) hostFilter(filter string) (func(*spec.Host) bool, error) {
	if filter == "" {
		return func(*spec.Host) bool { return true }, nil
	}
	expression, err := query.Parse(filter)
	if err != nil {
		return nil, wire.Errorf(wire.InvalidParameter, "Invalid filter: %v, in %q.", err, filter)
	}
	return func(h *spec.Host) bool {
		facts := query.HostFacts{Host: h, Connected: c.Store.Connected(h.ID)}
		if expression.ReadsTasks() {
			facts.Tasks = c.View.TasksOn(h.ID)
		}
		return expression.Match(facts)
	}, nil
}
