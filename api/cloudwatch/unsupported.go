package cloudwatch

import (
	"context"

	"pinion/api/wire"
)

// groupInput is the input of an operation on one group; its other members are ignored.
type groupInput struct {
	LogGroupName string `json:"logGroupName"`
}

// emptyOutput is the output of an operation without one.
type emptyOutput struct{}

// unsupported is an operation that Pinion refuses. It tells an existing group from a missing one all the same, because scripts
// check that first.
func unsupported(name, why string) Operation {
	return operation(name, func(c *Request, _ context.Context, in *groupInput) (*emptyOutput, error) {
		if _, err := c.sources(in.LogGroupName); err != nil {
			return nil, err
		}
		return nil, wire.Errorf(wire.InvalidParameter, "pinion: %s is not supported: %s.", name, why)
	})
}

// createLogGroup answers that an existing group already exists, which scripts and Terraform handle, and refuses any other:
// nothing would store a group that no task definition names.
func (c *Request) createLogGroup(_ context.Context, in *groupInput) (*emptyOutput, error) {
	_, err := c.sources(in.LogGroupName)
	switch {
	case err == nil:
		return nil, wire.Errorf(alreadyExists, "The specified log group already exists")
	case in.LogGroupName == "":
		return nil, err
	}
	return nil, wire.Errorf(wire.InvalidParameter, "pinion: CreateLogGroup is not supported: the group %s is there as soon as a task definition names it in awslogs-group. Leave this call out.", in.LogGroupName)
}

type tagsOutput struct {
	Tags map[string]string `json:"tags"`
}

type resourceInput struct {
	ResourceARN string `json:"resourceArn"`
}

// listTagsForResource lists no tags: groups have none.
func (c *Request) listTagsForResource(_ context.Context, in *resourceInput) (*tagsOutput, error) {
	group, err := parseGroupARN(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	return c.listTags(group)
}

func (c *Request) listTagsLogGroup(_ context.Context, in *groupInput) (*tagsOutput, error) {
	return c.listTags(in.LogGroupName)
}

func (c *Request) listTags(group string) (*tagsOutput, error) {
	if _, err := c.sources(group); err != nil {
		return nil, err
	}
	return &tagsOutput{Tags: map[string]string{}}, nil
}
