package raftfsm

import (
	"fmt"
	"pinion/raftfsm/spec"
	"slices"
	"strings"
)

// TagsOf are the tags of a resource: clusters and capacity providers by their names, a task definition by family:revision,
// tasks and hosts by id. ErrNotFound.
func (v *View) TagsOf(kind spec.Tagged, id string) ([]spec.Tag, error) {
	switch cluster, definition, task, host := v.Cluster(id), v.Definition(id), v.Task(id), v.Host(id); {
	case kind == spec.TaggedProvider:
		if provider := v.CapacityProvider(id); provider != nil {
			return provider.Tags, nil
		}
	case kind == spec.TaggedCluster && cluster != nil:
		return cluster.Tags, nil
	case kind == spec.TaggedDefinition && definition != nil && definition.Name() == id:
		return definition.Tags, nil
	case kind == spec.TaggedTask && task != nil:
		return task.Tags, nil
	case kind == spec.TaggedHost && host != nil:
		return host.Tags, nil
	}
	return nil, fmt.Errorf("%s %q: %w", strings.ReplaceAll(string(kind), "-", " "), id, spec.ErrNotFound)
}

// SetTags removes tags of a resource and then puts others, each in place of the one with its key. ErrNotFound, ErrInactive
// for a cluster or capacity provider that was deleted and a task that is STOPPED, ErrInUse for the built-in capacity
// provider, ErrTooManyTags. Answer: []Tag, all that the resource has now.
type SetTags struct {
	Kind   spec.Tagged
	ID     string // as in TagsOf
	Put    []spec.Tag
	Remove []string // keys
}

func (c SetTags) apply(tx *tx) (any, error) {
	before, err := tx.TagsOf(c.Kind, c.ID)
	if err != nil {
		return nil, err
	}
	if c.Kind == spec.TaggedProvider && c.ID == spec.BuiltinCapacityProvider {
		return nil, errBuiltin
	}
	if c.over(&tx.View) {
		return nil, fmt.Errorf("%s %s: %w", c.Kind, c.ID, spec.ErrInactive)
	}
	tags := c.change(before)
	if own := slices.DeleteFunc(slices.Clone(tags), spec.Tag.Reserved); len(own) > spec.MaxTags {
		return nil, fmt.Errorf("%s %s: %w", c.Kind, c.ID, spec.ErrTooManyTags)
	}
	if slices.Equal(tags, before) {
		return before, nil
	}
	if c.Kind == spec.TaggedTask && isGang(tags) != isGang(before) {
		return nil, fmt.Errorf("task %s: %w: the tag %s says how it was run and stays as it is", c.ID, spec.ErrInUse, spec.TagGang)
	}
	switch c.Kind {
	case spec.TaggedCluster:
		putChanged(tx, tableClusters, tx.Cluster(c.ID), func(k *spec.Cluster) { k.Tags = tags })
	case spec.TaggedDefinition:
		putChanged(tx, tableDefinitions, tx.Definition(c.ID), func(d *spec.TaskDefinition) { d.Tags = tags })
	case spec.TaggedTask:
		putChanged(tx, tableTasks, tx.Task(c.ID), func(t *spec.Task) { t.Tags, t.Version = tags, t.Version+1 })
	case spec.TaggedHost:
		putChanged(tx, tableHosts, tx.Host(c.ID), func(h *spec.Host) { h.Tags, h.Revision = tags, h.Revision+1 })
	case spec.TaggedProvider:
		putChanged(tx, tableCapacityProviders, tx.CapacityProvider(c.ID), func(p *spec.CapacityProvider) { p.Tags = tags })
	}
	return tags, nil
}

// over says whether the resource has ended, so that nothing about it changes any more.
func (c SetTags) over(v *View) bool {
	switch c.Kind {
	case spec.TaggedCluster:
		return v.Cluster(c.ID).Status == spec.ClusterInactive
	case spec.TaggedTask:
		return v.Task(c.ID).LastStatus == spec.Stopped
	case spec.TaggedProvider:
		return v.CapacityProvider(c.ID).Status == spec.CapacityProviderInactive
	}
	return false
}

func (c SetTags) change(before []spec.Tag) []spec.Tag {
	tags := slices.DeleteFunc(slices.Clone(before), func(t spec.Tag) bool { return slices.Contains(c.Remove, t.Key) })
	for _, tag := range c.Put {
		at := slices.IndexFunc(tags, func(t spec.Tag) bool { return t.Key == tag.Key })
		if at < 0 {
			tags = append(tags, tag)
			continue
		}
		tags[at] = tag
	}
	return tags
}

func isGang(tags []spec.Tag) bool {
	terms, _ := spec.TermsOf(tags)
	return terms.Gang
}

// putChanged puts a changed copy of an object.
func putChanged[T any](tx *tx, table relation, known *T, change func(*T)) {
	changed := *known
	change(&changed)
	tx.put(table, &changed)
}
