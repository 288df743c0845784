package cloudwatchlogs

import (
	"context"

	"pinion/api/auth"
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
	return operation(name, auth.PerResource, func(c *Request, _ context.Context, in *groupInput) (*emptyOutput, error) {
		if _, err := c.sources(in.LogGroupName); err != nil {
			return nil, err
		}
		return nil, wire.Errorf(wire.InvalidParameter, "pinion: %s is not supported: %s.", name, why)
	})
}
