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

// maxDeleted is how many task definitions one call may delete.
const maxDeleted = 10

// Why a task definition is not deleted, in words that clients match.
const (
	stillActive = "The specified task definition is still in ACTIVE status. Please deregister the target and try again."
	notAName    = "The specified task definition identifier is invalid. Specify a valid name or ARN and try again."
	notThere    = "The specified task definition does not exist. Specify a valid account, family, revision and try again."
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
func (c *Call) deleteTaskDefinitions(ctx context.Context, in *deleteDefinitionsInput) (*deleteDefinitionsOutput, error) {
	if len(in.Definitions) == 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "taskDefinitions cannot be empty.")
	}
	if len(in.Definitions) > maxDeleted {
		return nil, wire.Errorf(wire.InvalidParameter, "taskDefinitions can have at most %d items, not %d.", maxDeleted, len(in.Definitions))
	}
	out := &deleteDefinitionsOutput{Definitions: []taskDefinition{}, Failures: []failure{}}
	command := raftfsm.DeleteDefinitions{At: c.Now()}
	for _, given := range in.Definitions {
		name, reason := c.deletable(given)
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
		out.Definitions = append(out.Definitions, c.definition(definition))
	}
	return out, nil
}

// deletable reads the name of a revision, and says why it cannot be deleted.
func (c *Call) deletable(given string) (name, reason string) {
	r, err := parseResource("task-definition", given)
	_, revision, _ := strings.Cut(r.name, ":")
	if number, bad := strconv.Atoi(revision); err != nil || bad != nil || number < 1 {
		return "", notAName
	}
	switch known := c.View.Definition(r.name); {
	case known == nil:
		return "", notThere
	case known.Status == spec.DefinitionActive:
		return "", stillActive
	}
	return r.name, ""
}
