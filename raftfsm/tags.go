package raftfsm

import (
	"fmt"
	"slices"
	"strings"

	"pinion/raftfsm/spec"
)

// TagsOf are the tags of a resource: clusters and capacity providers by their names, a task definition by family:revision,
// tasks and hosts by id. ErrNotFound.
func (v *View) TagsOf(kind spec.ResourceKind, id string) ([]spec.Tag, error) {
	switch cluster, definition, task, host := v.Cluster(id), v.Definition(id), v.Task(id), v.Host(id); {
	case kind == spec.ResourceCapacityProvider:
		if provider := v.CapacityProvider(id); provider != nil {
			return provider.Tags, nil
		}
	case kind == spec.ResourceCluster && cluster != nil:
		return cluster.Tags, nil
	case kind == spec.ResourceDefinition && definition != nil && definition.Name() == id:
		return definition.Tags, nil
	case kind == spec.ResourceTask && task != nil:
		return task.Tags, nil
	case kind == spec.ResourceHost && host != nil:
		return host.Tags, nil
	}
	return nil, fmt.Errorf("%s %q: %w", strings.ReplaceAll(string(kind), "-", " "), id, spec.ErrNotFound)
}

// SetTags removes tags of a resource and then puts others, each in place of the one with its key. ErrNotFound, ErrInactive
// for a cluster or capacity provider that was deleted and a task that is STOPPED, ErrInUse for the built-in capacity
// provider, ErrTooManyTags. Answer: []Tag, all that the resource has now.
type SetTags struct {
	Kind   spec.ResourceKind
	ID     string // as in TagsOf
	Put    []spec.Tag
	Remove []string // keys
}

func (c SetTags) apply(tx *tx) (any, error) {
	before, err := tx.TagsOf(c.Kind, c.ID)
	if err != nil {
		return nil, err
	}
	if c.Kind == spec.ResourceCapacityProvider && c.ID == spec.BuiltinCapacityProvider {
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
	if c.Kind == spec.ResourceTask && isGang(tags) != isGang(before) {
		return nil, fmt.Errorf("task %s: %w: the tag %s says how it was run and stays as it is", c.ID, spec.ErrInUse, spec.TagGang)
	}
	switch c.Kind {
	case spec.ResourceCluster:
		putUpdated(tx, tableClusters, tx.Cluster(c.ID), func(k *spec.Cluster) { k.Tags = tags })
	case spec.ResourceDefinition:
		putUpdated(tx, tableDefinitions, tx.Definition(c.ID), func(d *spec.TaskDefinition) { d.Tags = tags })
	case spec.ResourceTask:
		putUpdated(tx, tableTasks, tx.Task(c.ID), func(t *spec.Task) { t.Tags, t.Version = tags, t.Version+1 })
	case spec.ResourceHost:
		putUpdated(tx, tableHosts, tx.Host(c.ID), func(h *spec.Host) { h.Tags, h.Revision = tags, h.Revision+1 })
	case spec.ResourceCapacityProvider:
		putUpdated(tx, tableCapacityProviders, tx.CapacityProvider(c.ID), func(p *spec.CapacityProvider) { p.Tags = tags })
	}
	return tags, nil
}

// over says whether the resource has ended, so that nothing about it changes any more.
func (c SetTags) over(v *View) bool {
	switch c.Kind {
	case spec.ResourceCluster:
		return v.Cluster(c.ID).Status == spec.ClusterInactive
	case spec.ResourceTask:
		return v.Task(c.ID).LastStatus == spec.Stopped
	case spec.ResourceCapacityProvider:
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
	terms, _ := spec.ParseSchedulingOptions(tags)
	return terms.Gang
}

// putUpdated puts a changed copy of an object.
func putUpdated[T any](tx *tx, table anyTable, known *T, change func(*T)) {
	changed := *known
	change(&changed)
	tx.put(table, &changed)
}
