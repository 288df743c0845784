package ecs

import (
	"strings"
	"unicode/utf8"

	"pinion/api/wire"
	"pinion/raftfsm"
)

const maxTags = 50

// checkTags holds ECS's rules for tags. A list that is there but empty is refused, as ECS refuses it.
func checkTags(tags []raftfsm.Tag) error {
	if tags != nil && len(tags) == 0 {
		return wire.Errorf(wire.InvalidParameter, "Tags can not be empty.")
	}
	if len(tags) > maxTags {
		return wire.Errorf(wire.InvalidParameter, "tags can have at most %d items, not %d", maxTags, len(tags))
	}
	seen := map[string]bool{}
	for _, tag := range tags {
		switch {
		case tag.Key == "" || utf8.RuneCountInString(tag.Key) > 128:
			return wire.Errorf(wire.InvalidParameter, "a tag key must be 1 to 128 characters long")
		case utf8.RuneCountInString(tag.Value) > 256:
			return wire.Errorf(wire.InvalidParameter, "the value of tag %q is longer than 256 characters", tag.Key)
		case strings.HasPrefix(strings.ToLower(tag.Key), "aws:"):
			return wire.Errorf(wire.InvalidParameter, "tag %q: keys that begin with aws: are reserved", tag.Key)
		case seen[tag.Key]:
			return wire.Errorf(wire.InvalidParameter, "tag %q is there twice", tag.Key)
		}
		seen[tag.Key] = true
	}
	return nil
}
