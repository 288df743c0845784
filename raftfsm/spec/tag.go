package spec

import (
	"fmt"
	"slices"
	"strings"
)

// Tag is a label of ECS resources: key 1 to 128 characters, value at most 256.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// MaxTags bounds the tags of a resource, beside those that begin with ReservedTag.
const MaxTags = 50

// ReservedTag begins the keys of the tags that ECS sets itself.
const ReservedTag = "aws:"

// ErrTooManyTags refuses tags beyond MaxTags.
var ErrTooManyTags = fmt.Errorf("a resource can have %d tags: remove some first", MaxTags)

// ResourceKind is a kind of resource that has tags. The values are those of ECS's ARNs.
type ResourceKind string

// The kinds of resources that can be tagged.
const (
	ResourceCluster          ResourceKind = "cluster"
	ResourceDefinition       ResourceKind = "task-definition"
	ResourceTask             ResourceKind = "task"
	ResourceHost             ResourceKind = "container-instance"
	ResourceCapacityProvider ResourceKind = "capacity-provider"
	ResourceLogGroup         ResourceKind = "log-group"
	ResourceService          ResourceKind = "service"
	ResourceScalableTarget   ResourceKind = "scalable-target"
	ResourceTaskSet          ResourceKind = "task-set"
	ResourceDaemon           ResourceKind = "daemon"                 // tagged as the service that it is
	ResourceDaemonDefinition ResourceKind = "daemon-task-definition" // tagged as a task definition
)

// Reserved says whether the tag is one that ECS sets itself; see ReservedTag.
func (t Tag) Reserved() bool { return strings.HasPrefix(strings.ToLower(t.Key), ReservedTag) }

// ChangeTags removes tags and then adds others; an added tag replaces the one with its key. Nil when nothing changes. ErrTooManyTags.
func ChangeTags(before, put []Tag, remove []string) ([]Tag, error) {
	tags := slices.DeleteFunc(slices.Clone(before), func(t Tag) bool { return slices.Contains(remove, t.Key) })
	for _, tag := range put {
		at := slices.IndexFunc(tags, func(t Tag) bool { return t.Key == tag.Key })
		if at < 0 {
			tags = append(tags, tag)
			continue
		}
		tags[at] = tag
	}
	if own := slices.DeleteFunc(slices.Clone(tags), Tag.Reserved); len(own) > MaxTags {
		return nil, ErrTooManyTags
	}
	if slices.Equal(tags, before) {
		return nil, nil
	}
	return tags, nil
}

// GangStays refuses tags that would add a task to a gang, or remove it from one.
func GangStays(t *Task, tags []Tag) error {
	if isGang(tags) == isGang(t.Tags) {
		return nil
	}
	return fmt.Errorf("%w: the tag %s says how it was run and stays as it is", ErrInUse, TagGang)
}

func isGang(tags []Tag) bool {
	options, _ := ParseSchedulingOptions(tags)
	return options.Gang
}
