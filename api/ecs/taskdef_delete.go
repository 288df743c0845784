package ecs

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// maxDeletedDefinitions is how many task definitions one request may delete.
const maxDeletedDefinitions = 10

// Why a task definition is not deleted, in words that clients match.
const (
	reasonStillActive = "The specified task definition is still in ACTIVE status. Please deregister the target and try again."
	reasonInvalidName = "The specified task definition identifier is invalid. Specify a valid name or ARN and try again."
	reasonNotFound    = "The specified task definition does not exist. Specify a valid account, family, revision and try again."
)

// deleteTaskDefinitions gives up INACTIVE revisions: they are described as DELETE_IN_PROGRESS until no task refers to
// them any more.
func deleteTaskDefinitions(ctx context.Context, r *Request, in *types.DeleteTaskDefinitionsInput) (*types.DeleteTaskDefinitionsOutput, error) {
	if len(in.TaskDefinitions) == 0 {
		return nil, field.Errorf("taskDefinitions", "taskDefinitions cannot be empty.")
	}
	if len(in.TaskDefinitions) > maxDeletedDefinitions {
		return nil, field.Errorf("taskDefinitions", "taskDefinitions can have at most %d items, not %d.", maxDeletedDefinitions, len(in.TaskDefinitions))
	}
	out := &types.DeleteTaskDefinitionsOutput{TaskDefinitions: []types.TaskDefinition{}, Failures: []types.Failure{}}
	command := raftfsm.DeleteDefinitions{At: r.Now()}
	for _, given := range in.TaskDefinitions {
		name, reason := checkDeletable(r, given)
		if reason != "" {
			out.Failures = append(out.Failures, types.Failure{ARN: given, Reason: reason})
			continue
		}
		if !slices.Contains(command.Names, name) {
			command.Names = append(command.Names, name)
		}
	}
	if len(command.Names) == 0 {
		return out, nil
	}
	deleted, err := call.Apply[[]*spec.TaskDefinition](ctx, r, command)
	if err != nil {
		return nil, err
	}
	for _, definition := range deleted {
		out.TaskDefinitions = append(out.TaskDefinitions, r.Render().Definition(definition))
	}
	return out, nil
}

// checkDeletable reads the name of a revision, and says why it cannot be deleted.
func checkDeletable(r *Request, given string) (name, reason string) {
	parsed, err := arn.Parse(arn.TaskDefinition, given)
	_, revision, _ := strings.Cut(parsed.Name, ":")
	if number, bad := strconv.Atoi(revision); err != nil || bad != nil || number < 1 {
		return "", reasonInvalidName
	}
	switch known := r.View.Definition(parsed.Name); {
	case known == nil:
		return "", reasonNotFound
	case known.Status == spec.DefinitionActive:
		return "", reasonStillActive
	}
	return parsed.Name, ""
}
