package ecs

import (
	"context"
	"strconv"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

type definitionOutput struct {
	Definition taskDefinition `json:"taskDefinition"`
	Tags       []spec.Tag     `json:"tags,omitzero"`
}

func (c *Request) registerTaskDefinition(ctx context.Context, in *registerInput) (*definitionOutput, error) {
	definition, err := in.normalise()
	if err != nil {
		return nil, err
	}
	if in.Version != nil {
		c.warn("version is ignored: a task definition has revisions, which Pinion counts")
	}
	if definition.SharesGPU() {
		c.warn("sharingStrategy is kept, but no host shares GPUs yet: tasks of this definition are refused with ATTRIBUTE")
	}
	definition.RegisteredAt, definition.RegisteredBy = c.Now(), c.Principal
	stored, err := apply[*spec.TaskDefinition](ctx, c, raftfsm.RegisterDefinition{Definition: *definition})
	if err != nil {
		return nil, err
	}
	return &definitionOutput{c.renderDefinition(stored), stored.Tags}, nil
}

type deregisterOutput struct {
	Definition taskDefinition `json:"taskDefinition"`
}

type deregisterInput struct {
	Definition string `json:"taskDefinition"`
}

func (c *Request) deregisterTaskDefinition(ctx context.Context, in *deregisterInput) (*deregisterOutput, error) {
	name, err := definitionName(in.Definition)
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
	if c.View.Definition(name) == nil {
		return nil, errNoDefinition
	}
	stored, err := apply[*spec.TaskDefinition](ctx, c, raftfsm.DeregisterDefinition{Name: name, At: c.Now()})
	if err != nil {
		return nil, err
	}
	return &deregisterOutput{c.renderDefinition(stored)}, nil
}

type describeDefinitionInput struct {
	Definition string   `json:"taskDefinition"`
	Include    []string `json:"include"`
}

// errNoDefinition is what clients look for: the operations on one task definition have no NotFound type.
var errNoDefinition = wire.Errorf(wire.Client, "Unable to describe task definition.")

func (c *Request) describeTaskDefinition(_ context.Context, in *describeDefinitionInput) (*definitionOutput, error) {
	if err := allInEnum("include", in.Include, "TAGS"); err != nil {
		return nil, err
	}
	name, err := definitionName(in.Definition)
	if err != nil {
		return nil, err
	}
	known := c.View.Definition(name)
	if known == nil {
		return nil, errNoDefinition
	}
	out := &definitionOutput{Definition: c.renderDefinition(known)}
	if len(in.Include) > 0 {
		out.Tags = nonNil(known.Tags)
	}
	return out, nil
}

// definitionName turns "family", "family:revision" or an ARN with or without revision into a name of the state.
func definitionName(given string) (string, error) {
	if given == "" {
		return "", wire.Errorf(wire.Client, "TaskDefinition should not be null or empty.")
	}
	r, err := parseResource("task-definition", given)
	return r.name, err
}

// taskDefinition is ECS's TaskDefinition. Lists that ECS always shows are never nil.
type taskDefinition struct {
	ARN                     string                     `json:"taskDefinitionArn"`
	Containers              []spec.ContainerDefinition `json:"containerDefinitions"`
	Family                  string                     `json:"family"`
	TaskRoleARN             string                     `json:"taskRoleArn,omitempty"`
	ExecutionRoleARN        string                     `json:"executionRoleArn,omitempty"`
	NetworkMode             string                     `json:"networkMode,omitempty"`
	Revision                int                        `json:"revision"`
	Volumes                 []spec.Volume              `json:"volumes"`
	Status                  string                     `json:"status"`
	RequiresAttributes      []spec.Attribute           `json:"requiresAttributes,omitempty"`
	PlacementConstraints    []spec.PlacementConstraint `json:"placementConstraints"`
	Compatibilities         []string                   `json:"compatibilities"`
	RuntimePlatform         *spec.RuntimePlatform      `json:"runtimePlatform,omitempty"`
	RequiresCompatibilities []string                   `json:"requiresCompatibilities,omitempty"`
	CPU                     string                     `json:"cpu,omitempty"`
	Memory                  string                     `json:"memory,omitempty"`
	PIDMode                 string                     `json:"pidMode,omitempty"`
	IPCMode                 string                     `json:"ipcMode,omitempty"`
	RegisteredAt            wire.Time                  `json:"registeredAt,omitzero"`
	DeregisteredAt          wire.Time                  `json:"deregisteredAt,omitzero"`
	DeleteRequestedAt       wire.Time                  `json:"deleteRequestedAt,omitzero"`
	RegisteredBy            string                     `json:"registeredBy,omitempty"`
}

func (c *Request) renderDefinition(d *spec.TaskDefinition) taskDefinition {
	return taskDefinition{
		ARN: c.definitionARN(d.Name()), Containers: d.Containers, Family: d.Family, TaskRoleARN: d.TaskRoleARN,
		ExecutionRoleARN: d.ExecutionRoleARN, NetworkMode: d.NetworkMode, Revision: d.Revision, Volumes: d.Volumes,
		Status: string(d.Status), RequiresAttributes: d.RequiredAttributes(), PlacementConstraints: d.PlacementConstraints,
		Compatibilities: d.Compatibilities, RuntimePlatform: d.RuntimePlatform,
		RequiresCompatibilities: d.RequiresCompatibilities, CPU: d.CPU, Memory: d.Memory, PIDMode: d.PIDMode,
		IPCMode: d.IPCMode, RegisteredAt: wire.NewTime(d.RegisteredAt), DeregisteredAt: wire.NewTime(d.DeregisteredAt),
		DeleteRequestedAt: wire.NewTime(d.DeleteRequestedAt),
		RegisteredBy:      d.RegisteredBy,
	}
}
