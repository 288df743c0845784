package spec

import (
	"fmt"
	"strings"
)

// Tag is a label of ECS resources: key 1 to 128 characters, value at most 256.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// MaxTags bounds the tags of a resource, beside those that begin with ReservedTag.
const MaxTags = 50

// ReservedTag is how the keys of tags begin that ECS sets itself.
const ReservedTag = "aws:"

// ErrTooManyTags refuses tags beyond MaxTags.
var ErrTooManyTags = fmt.Errorf("a resource can have %d tags: remove some first", MaxTags)

// ResourceKind is what kind of resource has tags. The values are those of ECS's ARNs.
type ResourceKind string

// The kinds of resources that can be tagged.
const (
	ResourceCluster          ResourceKind = "cluster"
	ResourceDefinition       ResourceKind = "task-definition"
	ResourceTask             ResourceKind = "task"
	ResourceHost             ResourceKind = "container-instance"
	ResourceCapacityProvider ResourceKind = "capacity-provider"
)

// Reserved says whether the tag is one that ECS sets itself; see ReservedTag.
func (t Tag) Reserved() bool { return strings.HasPrefix(strings.ToLower(t.Key), ReservedTag) }
