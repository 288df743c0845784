package ecs

import (
	"slices"
	"strings"

	"pinion/api/wire"
)

// inEnum refuses a value that is not among those that the model lists. Absent passes.
func inEnum(field, value string, allowed ...string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return wire.Errorf(wire.InvalidParameter, "%s must be one of %s, not %q", field, strings.Join(allowed, ", "), value)
}

// allInEnum is oneOf for lists such as include.
func allInEnum(field string, values []string, allowed ...string) error {
	for _, value := range values {
		if value == "" || !slices.Contains(allowed, value) {
			return wire.Errorf(wire.InvalidParameter, "%s must hold only %s, not %q", field, strings.Join(allowed, ", "), value)
		}
	}
	return nil
}

// nonNil is never nil: where ECS always shows a list, an empty one is [].
func nonNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// failure is one thing that an operation could not do or find while it did the rest.
type failure struct {
	ARN    string `json:"arn,omitempty"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}
