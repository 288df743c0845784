// Package tags checks the tags that requests give to resources: ECS's rules for all of them, and Pinion's for the keys that
// say how a task is scheduled.
package tags

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"pinion/api/ecs/field"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

// text matches keys and values: letters, blanks and numbers of any script, and these signs.
var text = lazyregexp.New(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// ManagedKey is the key of the tag that enableECSManagedTags puts on tasks.
const ManagedKey = spec.ReservedTag + "ecs:clusterName"

// List is tags that a request gives by their keys, in the order of these; nil for none.
func List(given map[string]string) (list []spec.Tag) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		list = append(list, spec.Tag{Key: key, Value: given[key]})
	}
	return list
}

// Check checks tags by ECS's rules. An empty list is refused, as on ECS; an absent one passes.
func Check(all []spec.Tag) error {
	if all != nil && len(all) == 0 {
		return field.Errorf("tags", "Tags can not be empty.")
	}
	if len(all) > spec.MaxTags {
		return field.Errorf("tags", "tags can have at most %d items, not %d", spec.MaxTags, len(all))
	}
	seen := map[string]bool{}
	for i, tag := range all {
		path := field.Index("tags", i)
		if err := checkKey(field.Join(path, "key"), tag.Key); err != nil {
			return err
		}
		switch {
		case utf8.RuneCountInString(tag.Value) > 256:
			return field.Errorf(field.Join(path, "value"), "the value of tag %q is longer than 256 characters", tag.Key)
		case !text.MatchString(tag.Value):
			return field.Errorf(field.Join(path, "value"), "the value of tag %q must be of letters, numbers, blanks and _ . : / = + - @, not %q", tag.Key, tag.Value)
		case seen[tag.Key]:
			return field.Errorf(field.Join(path, "key"), "tag %q is there twice", tag.Key)
		}
		seen[tag.Key] = true
	}
	return nil
}

// CheckKeys checks tag keys by ECS's rules.
func CheckKeys(keys []string) error {
	for i, key := range keys {
		if err := checkKey(field.Index("tagKeys", i), key); err != nil {
			return err
		}
	}
	return nil
}

func checkKey(path, key string) error {
	switch {
	case key == "" || utf8.RuneCountInString(key) > 128:
		return field.Errorf(path, "a tag key must be 1 to 128 characters long")
	case !text.MatchString(key):
		return field.Errorf(path, "a tag key must be of letters, numbers, blanks and _ . : / = + - @, not %q", key)
	case strings.HasPrefix(strings.ToLower(key), spec.ReservedTag):
		return field.Errorf(path, "tag %q: keys that begin with aws: are reserved", key)
	}
	return nil
}

// ownPrefix begins the keys of scheduling options. A mistyped one is refused, because it would be ignored in silence.
const ownPrefix = "pinion."

// CheckScheduling checks the tags that are scheduling options of a task. A definition is checked too: its tags may be propagated to
// its tasks.
func CheckScheduling(all []spec.Tag) error {
	if err := spec.CheckLostAfter(all); err != nil {
		return field.Errorf("tags", "%v.", err)
	}
	if _, err := spec.ParseSchedulingOptions(all); err != nil {
		return field.Errorf("tags", "%v.", err)
	}
	for i, tag := range all {
		if strings.HasPrefix(tag.Key, ownPrefix) && !slices.Contains(spec.ReservedTagKeys(), tag.Key) {
			return field.Errorf(field.Join(field.Index("tags", i), "key"), "The tag %s is not known; of those that begin with %s there are %s.", tag.Key, ownPrefix, strings.Join(spec.ReservedTagKeys(), ", "))
		}
	}
	return nil
}

// Merge lays the tags of a call over those of a definition.
func Merge(base, over []spec.Tag) []spec.Tag {
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

// CheckTeam checks the name of a team, which must be a valid value of a tag.
func CheckTeam(name string) error {
	return Check([]spec.Tag{{Key: spec.TagTeam, Value: name}})
}
