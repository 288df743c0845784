package ecs

import (
	"context"
	"strconv"
	"strings"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/taskdef"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// registerTaskDefinition answers with ClientException for all that is wrong with a task definition, as ECS does.
func registerTaskDefinition(ctx context.Context, r *Request, in *types.RegisterTaskDefinitionInput) (*types.RegisterTaskDefinitionOutput, error) {
	definition, err := taskdef.Parse(in)
	if err != nil {
		return nil, call.WithType(wire.Client, err)
	}
	if in.Version != nil {
		r.Warn("version is ignored: a task definition has revisions, which Pinion counts")
	}
	if err := call.PassRoles(r, definition); err != nil {
		return nil, err
	}
	definition.RegisteredAt, definition.RegisteredBy = r.Now(), r.Principal
	stored, err := call.Apply[*spec.TaskDefinition](ctx, r, raftfsm.RegisterDefinition{Definition: *definition, Clusters: r.KeyClusters.Set()})
	if err != nil {
		return nil, err
	}
	return &types.RegisterTaskDefinitionOutput{TaskDefinition: r.Render().Definition(stored), Tags: stored.Tags}, nil
}

func deregisterTaskDefinition(ctx context.Context, r *Request, in *types.DeregisterTaskDefinitionInput) (*types.DeregisterTaskDefinitionOutput, error) {
	name, err := definitionName(in.TaskDefinition)
	if err != nil {
		return nil, err
	}
	_, revision, exact := strings.Cut(name, ":")
	if !exact || revision == "" {
		return nil, wire.Errorf(wire.Client, "Revision is missing.")
	}
	if n, err := strconv.Atoi(revision); err != nil || n < 1 {
		return nil, wire.Errorf(wire.Client, "Invalid revision number. Number: %s", revision)
	}
	if r.View.Definition(name) == nil {
		return nil, errNoDefinition
	}
	stored, err := call.Apply[*spec.TaskDefinition](ctx, r, raftfsm.DeregisterDefinition{Name: name, At: r.Now()})
	if err != nil {
		return nil, err
	}
	return &types.DeregisterTaskDefinitionOutput{TaskDefinition: r.Render().Definition(stored)}, nil
}

// errNoDefinition is the text that clients match: the operations on one task definition have no NotFound type.
var errNoDefinition = wire.Errorf(wire.Client, "Unable to describe task definition.")

func describeTaskDefinition(_ context.Context, r *Request, in *types.DescribeTaskDefinitionInput) (*types.DescribeTaskDefinitionOutput, error) {
	name, err := definitionName(in.TaskDefinition)
	if err != nil {
		return nil, err
	}
	known := r.View.Definition(name)
	if known == nil {
		return nil, errNoDefinition
	}
	out := &types.DescribeTaskDefinitionOutput{TaskDefinition: r.Render().Definition(known), Tags: []spec.Tag{}}
	if len(in.Include) > 0 {
		out.Tags = call.NonNil(known.Tags)
	}
	return out, nil
}

// definitionName turns "family", "family:revision" or an ARN with or without revision into a name of the state.
func definitionName(given string) (string, error) {
	if given == "" {
		return "", wire.Errorf(wire.Client, "TaskDefinition should not be null or empty.")
	}
	parsed, err := arn.Parse(arn.TaskDefinition, given)
	return parsed.Name, err
}
