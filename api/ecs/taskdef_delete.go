package ecs

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// maxDeletedDefinitions is how many task definitions one call may delete.
const maxDeletedDefinitions = 10

// Why a task definition is not deleted, in words that clients match.
const (
	reasonStillActive = "The specified task definition is still in ACTIVE status. Please deregister the target and try again."
	reasonInvalidName = "The specified task definition identifier is invalid. Specify a valid name or ARN and try again."
	reasonNotFound    = "The specified task definition does not exist. Specify a valid account, family, revision and try again."
)

type deleteDefinitionsInput struct {
	Definitions []string `json:"taskDefinitions"`
}

type deleteDefinitionsOutput struct {
	Definitions []taskDefinition `json:"taskDefinitions"`
	Failures    []failure        `json:"failures"`
}

// deleteTaskDefinitions gives up INACTIVE revisions: they are described as DELETE_IN_PROGRESS until no task refers to
// them any more.
func (c *Request) deleteTaskDefinitions(ctx context.Context, in *deleteDefinitionsInput) (*deleteDefinitionsOutput, error) {
	if len(in.Definitions) == 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "taskDefinitions cannot be empty.")
	}
	if len(in.Definitions) > maxDeletedDefinitions {
		return nil, wire.Errorf(wire.InvalidParameter, "taskDefinitions can have at most %d items, not %d.", maxDeletedDefinitions, len(in.Definitions))
	}
	out := &deleteDefinitionsOutput{Definitions: []taskDefinition{}, Failures: []failure{}}
	command := raftfsm.DeleteDefinitions{At: c.Now()}
	for _, given := range in.Definitions {
		name, reason := c.checkDeletable(given)
		if reason != "" {
			out.Failures = append(out.Failures, failure{ARN: given, Reason: reason})
			continue
		}
		if !slices.Contains(command.Names, name) {
			command.Names = append(command.Names, name)
		}
	}
	if len(command.Names) == 0 {
		return out, nil
	}
	deleted, err := apply[[]*spec.TaskDefinition](ctx, c, command)
	if err != nil {
		return nil, err
	}
	for _, definition := range deleted {
		out.Definitions = append(out.Definitions, c.renderDefinition(definition))
	}
	return out, nil
}

// checkDeletable reads the name of a revision, and says why it cannot be deleted.
func (c *Request) checkDeletable(given string) (name, reason string) {
	r, err := parseResource("task-definition", given)
	_, revision, _ := strings.Cut(r.name, ":")
	if number, bad := strconv.Atoi(revision); err != nil || bad != nil || number < 1 {
		return "", reasonInvalidName
	}
	switch known := c.View.Definition(r.name); {
	case known == nil:
		return "", reasonNotFound
	case known.Status == spec.DefinitionActive:
		return "", reasonStillActive
	}
	return r.name, ""
}
