package secrets

import (
	"slices"
	"strings"
	"unicode"

	"pinion/api/wire"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
)

// Tag is a tag as both services write it.
type Tag struct {
	Key   string `json:"Key"`
	Value string `json:"Value"`
}

// FromTags are the tags of an input; nil for none.
func FromTags(given []Tag) (all []spec.Tag) {
	for _, tag := range given {
		all = append(all, spec.Tag(tag))
	}
	return all
}

// ToTags are tags of an answer, [] for none.
func ToTags(kept []spec.Tag) []Tag {
	all := make([]Tag, 0, len(kept))
	for _, tag := range kept {
		all = append(all, Tag(tag))
	}
	return all
}

// ownPrefix begins the keys of tags that mean something to Pinion.
const ownPrefix = "pinion."

// checkOwnTags refuses a mistyped tag of Pinion's own: a secret for all clusters of the key is not what pinion.cluster=lab is to make. Those of tasks
// pass, as tools give one set of tags to everything that they make.
func checkOwnTags(tags []spec.Tag) error {
	for _, tag := range tags {
		if strings.HasPrefix(tag.Key, ownPrefix) && tag.Key != secret.TagClusters && tag.Key != secret.TagTeams && !slices.Contains(spec.ReservedTagKeys(), tag.Key) {
			return wire.Errorf(wire.Client, "The tag %.128q is not known; of those that begin with %s, parameters and secrets have %s and %s.", tag.Key, ownPrefix, secret.TagClusters, secret.TagTeams)
		}
	}
	return nil
}

// CheckSegments refuses a name that has . or .. between its slashes: where names become paths, it would be the name of something else.
func CheckSegments(name string) error {
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "." || segment == ".." {
			return wire.Errorf(wire.Client, "Name %.300q must not have %s between slashes.", name, segment)
		}
	}
	return nil
}

// CheckText refuses a text that is longer than AWS allows, or has control characters.
func CheckText(member, text string, most int) error {
	if len(text) > most {
		return wire.Errorf(wire.Client, "%s can have at most %d bytes, not %d.", member, most, len(text))
	}
	if strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' && c != '\r' }) {
		return wire.Errorf(wire.Client, "%s must not have control characters.", member)
	}
	return nil
}

// CheckValue refuses a value that no variable of a container can have. The error does not tell the value.
func CheckValue(member, value, instead string) error {
	if value == "" {
		return wire.Errorf(wire.Client, "%s must not be empty.", member)
	}
	if at := strings.IndexByte(value, 0); at >= 0 {
		return wire.Errorf(wire.Client, "%s has a NUL at byte %d, which no variable of a container can have. %s", member, at, instead)
	}
	return nil
}
