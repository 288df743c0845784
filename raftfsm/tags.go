package raftfsm

import (
	"fmt"
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

// inactiveIf returns ErrInactive for a resource that has ended.
func inactiveIf(ended bool, kind spec.ResourceKind, id string) error {
	if !ended {
		return nil
	}
	return fmt.Errorf("%s %s: %w", kind, id, spec.ErrInactive)
}
