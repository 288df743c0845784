// Package placement reads the placement strategies of requests. It is pure.
package placement

import (
	"strings"

	"pinion/api/ecs/field"
	"pinion/raftfsm/spec"
)

// maxStrategies is ECS's limit for the placement strategies of a call.
// Bounds: each task that waits has its strategies.
const (
	maxStrategies = 5
	maxAttribute  = 128
)

// ParseStrategies checks strategies and writes them in one way: ECS takes fields in capitals too, and host for instanceId.
func ParseStrategies(given []spec.PlacementStrategy) ([]spec.PlacementStrategy, error) {
	if len(given) > maxStrategies {
		return nil, field.Errorf("placementStrategy", "placementStrategy can have at most %d items, not %d.", maxStrategies, len(given))
	}
	var all []spec.PlacementStrategy
	for i, s := range given {
		path := field.Index("placementStrategy", i)
		var err error
		switch s.Type {
		case "random":
			s.Field = "" // it has no use for one, and ECS does not mind
		case "binpack":
			s.Field, err = parseBinpackField(path+".field", s.Field)
		case "spread":
			s.Field, err = parseSpreadField(path+".field", s.Field)
		default:
			err = field.Errorf(path+".type", "placementStrategy.type must be one of random, spread, binpack, not %q", s.Type)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// parseBinpackField: gpu is Pinion's own.
func parseBinpackField(path, given string) (string, error) {
	switch lower := strings.ToLower(given); lower {
	case "cpu", "memory", "gpu":
		return lower, nil
	}
	return "", field.Errorf(path, "placementStrategy.field of binpack must be one of cpu, memory, gpu, not %q", given)
}

func parseSpreadField(path, given string) (string, error) {
	if name, ok := strings.CutPrefix(given, "attribute:"); ok && name != "" {
		if len(name) > maxAttribute {
			return "", field.Errorf(path, "placementStrategy.field names an attribute of %d characters, and an attribute has at most %d.", len(name), maxAttribute)
		}
		return given, nil
	}
	switch strings.ToLower(given) {
	case "instanceid", "host":
		return "instanceId", nil
	}
	return "", field.Errorf(path, "placementStrategy.field of spread must be attribute:NAME, instanceId or host, not %q", given)
}
