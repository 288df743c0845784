package raftfsm

import (
	"fmt"
	"slices"
	"strings"

	"pinion/raftfsm/spec"
)

// TagsOf returns the tags of a resource: clusters and capacity providers by name, a task definition by family:revision,
// tasks and hosts by id. ErrNotFound.
func (v *View) TagsOf(kind spec.ResourceKind, id string) ([]spec.Tag, error) {
	wanted := SetTags{Kind: kind, ID: id}
	if table := taggedTable(kind); table != nil {
		if tags, found := table.tagsOf(v, id); found {
			return tags, nil
		}
	}
	return nil, wanted.notFound()
}

// taggedTable returns nil when no noun has resources of the kind.
func taggedTable(kind spec.ResourceKind) anyTable {
	for _, table := range tables {
		if kind != "" && table.resourceKind() == kind {
			return table
		}
	}
	return nil
}

// SetTags removes tags of a resource and then adds others; an added tag replaces the one with its key. ErrNotFound;
// ErrInactive for a deleted cluster or capacity provider and for a STOPPED task; ErrInUse for the built-in capacity
// provider; ErrTooManyTags. Answer: []Tag, all tags of the resource.
type SetTags struct {
	Kind   spec.ResourceKind
	ID     string // as in TagsOf
	Put    []spec.Tag
	Remove []string // keys
}

func (c SetTags) apply(tx *tx) (any, error) {
	table := taggedTable(c.Kind)
	if table == nil {
		return nil, c.notFound()
	}
	tags, err := table.setTags(tx, c)
	if err != nil {
		return nil, err
	}
	return tags, nil
}

func (c SetTags) notFound() error {
	return fmt.Errorf("%s %q: %w", strings.ReplaceAll(string(c.Kind), "-", " "), c.ID, spec.ErrNotFound)
}

// change returns the new tags; nil when nothing changes.
func (c SetTags) change(before []spec.Tag) ([]spec.Tag, error) {
	tags := slices.DeleteFunc(slices.Clone(before), func(t spec.Tag) bool { return slices.Contains(c.Remove, t.Key) })
	for _, tag := range c.Put {
		at := slices.IndexFunc(tags, func(t spec.Tag) bool { return t.Key == tag.Key })
		if at < 0 {
			tags = append(tags, tag)
			continue
		}
		tags[at] = tag
	}
	if own := slices.DeleteFunc(slices.Clone(tags), spec.Tag.Reserved); len(own) > spec.MaxTags {
		return nil, fmt.Errorf("%s %s: %w", c.Kind, c.ID, spec.ErrTooManyTags)
	}
	if slices.Equal(tags, before) {
		return nil, nil
	}
	return tags, nil
}

// inactiveIf returns ErrInactive for a resource that has ended.
func inactiveIf(ended bool, kind spec.ResourceKind, id string) error {
	if !ended {
		return nil
	}
	return fmt.Errorf("%s %s: %w", kind, id, spec.ErrInactive)
}

// gangStays refuses tags that would add a task to a gang, or remove it from one.
func gangStays(t *spec.Task, tags []spec.Tag) error {
	if isGang(tags) == isGang(t.Tags) {
		return nil
	}
	return fmt.Errorf("%w: the tag %s says how it was run and stays as it is", spec.ErrInUse, spec.TagGang)
}

func isGang(tags []spec.Tag) bool {
	options, _ := spec.ParseSchedulingOptions(tags)
	return options.Gang
}
