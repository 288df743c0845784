package ecs

import (
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// checkSchedulingTags looks at the tags by which a task says how it waits, how long it may run and what is done when it ends. Those of a
// definition may become a task's.
func checkSchedulingTags(tags []spec.Tag) error {
	if err := spec.CheckLostAfter(tags); err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	if _, err := spec.ParseSchedulingOptions(tags); err != nil {
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	}
	for _, tag := range tags {
		if strings.HasPrefix(tag.Key, pinionTagPrefix) && !slices.Contains(spec.OwnTags(), tag.Key) {
			return wire.Errorf(wire.InvalidParameter, "The tag %s is not known; of those that begin with %s there are %s.", tag.Key, pinionTagPrefix, strings.Join(spec.OwnTags(), ", "))
		}
	}
	return nil
}

// pinionTagPrefix is how the tags begin that mean something to Pinion: a wrong one would be lost without a word.
const pinionTagPrefix = "pinion."

// checkUnqueued refuses what only a task that waits can have, of tasks that are placed at once or not at all.
func checkUnqueued(r *spec.RunRequest) error {
	const how = "that takes a queue: give capacityProviderStrategy, such as [{capacityProvider: " + spec.BuiltinCapacityProvider + "}]"
	terms, err := spec.ParseSchedulingOptions(r.Tags)
	switch {
	case err != nil:
		return wire.Errorf(wire.InvalidParameter, "%v.", err)
	case len(terms.Dependencies) > 0:
		return wire.Errorf(wire.InvalidParameter, "The tag %s has tasks wait for others, and %s.", spec.TagAfter, how)
	case r.Array:
		return wire.Errorf(wire.InvalidParameter, "array is for tasks that may wait, and %s.", how)
	}
	return nil
}

// CheckTeam says whether a team can have that name, which is the value of a tag.
func CheckTeam(name string) error {
	return checkTags([]spec.Tag{{Key: spec.TagTeam, Value: name}})
}
