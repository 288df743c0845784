package ecs

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// tagPattern is what keys and values of tags are made of: letters, blanks and numbers of any script, and these signs.
var tagPattern = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// managedTagKey is the tag that enableECSManagedTags puts on tasks.
const managedTagKey = spec.ReservedTag + "ecs:clusterName"

// checkTags holds ECS's rules for tags. A list that is there but empty is refused, as ECS refuses it.
func checkTags(tags []spec.Tag) error {
	if tags != nil && len(tags) == 0 {
		return wire.Errorf(wire.InvalidParameter, "Tags can not be empty.")
	}
	if len(tags) > spec.MaxTags {
		return wire.Errorf(wire.InvalidParameter, "tags can have at most %d items, not %d", spec.MaxTags, len(tags))
	}
	seen := map[string]bool{}
	for _, tag := range tags {
		if err := checkTagKey(tag.Key); err != nil {
			return err
		}
		switch {
		case utf8.RuneCountInString(tag.Value) > 256:
			return wire.Errorf(wire.InvalidParameter, "the value of tag %q is longer than 256 characters", tag.Key)
		case !tagPattern.MatchString(tag.Value):
			return wire.Errorf(wire.InvalidParameter, "the value of tag %q must be of letters, numbers, blanks and _ . : / = + - @, not %q", tag.Key, tag.Value)
		case seen[tag.Key]:
			return wire.Errorf(wire.InvalidParameter, "tag %q is there twice", tag.Key)
		}
		seen[tag.Key] = true
	}
	return nil
}

func checkTagKey(key string) error {
	switch {
	case key == "" || utf8.RuneCountInString(key) > 128:
		return wire.Errorf(wire.InvalidParameter, "a tag key must be 1 to 128 characters long")
	case !tagPattern.MatchString(key):
		return wire.Errorf(wire.InvalidParameter, "a tag key must be of letters, numbers, blanks and _ . : / = + - @, not %q", key)
	case strings.HasPrefix(strings.ToLower(key), spec.ReservedTag):
		return wire.Errorf(wire.InvalidParameter, "tag %q: keys that begin with aws: are reserved", key)
	}
	return nil
}

// taskTags are the tags that the tasks of a call get: its own, those of the definition if it asks for them, ECS's own if
// it asks for that.
func (in *launchInput) taskTags(k *spec.Cluster, definition *spec.TaskDefinition) ([]spec.Tag, error) {
	tags := in.Tags
	if in.PropagateTags == "TASK_DEFINITION" {
		tags = mergeTags(definition.Tags, in.Tags)
	}
	if len(tags) > spec.MaxTags {
		return nil, wire.Errorf(wire.InvalidParameter, "tags of the call and of the task definition come to %d, a task can have %d", len(tags), spec.MaxTags)
	}
	if in.EnableManagedTags {
		tags = append(tags[:len(tags):len(tags)], spec.Tag{Key: managedTagKey, Value: k.Name})
	}
	return tags, nil
}

// mergeTags lays the tags of a call over those of the definition.
func mergeTags(base, over []spec.Tag) []spec.Tag {
	merged := over[:len(over):len(over)]
	named := map[string]bool{}
	for _, tag := range over {
		named[tag.Key] = true
	}
	for _, tag := range base {
		if !named[tag.Key] {
			merged = append(merged, tag)
		}
	}
	return merged
}
