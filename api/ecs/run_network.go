package ecs

import (
	"pinion/api/ecs/field"
	"pinion/api/ecs/placement"
	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

// networkConstraints are what hosts have to meet for tasks with an address of their own.
func networkConstraints(r *Request, request spec.RunRequest, given *types.NetworkConfigurationInput, definition *spec.TaskDefinition) ([]spec.PlacementConstraint, error) {
	subnets, err := placement.Subnets(given, definition, r.View.Hosts(request.Cluster))
	if err != nil || len(subnets) == 0 {
		return nil, err
	}
	if options, _ := spec.ParseSchedulingOptions(request.Tags); options.Gang {
		return nil, field.Errorf("tags", "The tasks of a gang find one another at the addresses of their hosts, which containers of networkMode awsvpc do not have: use networkMode host or bridge.")
	}
	return []spec.PlacementConstraint{spec.InSubnets(subnets)}, nil
}
