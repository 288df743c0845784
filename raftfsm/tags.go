package raftfsm

import (
	"fmt"
	"slices"
	"strings"
)

// MaxTags is how many tags of its own one resource can have; those that begin with ReservedTag do not count.
const MaxTags = 50

// ReservedTag is how the keys of tags begin that ECS sets itself.
const ReservedTag = "aws:"

// ErrTooManyTags refuses tags beyond MaxTags.
var ErrTooManyTags = fmt.Errorf("a resource can have %d tags: remove some first", MaxTags)

// Tagged is what kind of resource has tags. The values are those of ECS's ARNs.
type Tagged string

// The kinds of resources that can be tagged.
const (
	TaggedCluster    Tagged = "cluster"
	TaggedDefinition Tagged = "task-definition"
	TaggedTask       Tagged = "task"
	TaggedHost       Tagged = "container-instance"
	TaggedProvider   Tagged = "capacity-provider"
)

// TagsOf are the tags of a resource: clusters and capacity providers by their names, a task definition by family:revision,
// tasks and hosts by id. ErrNotFound.
func (v *View) TagsOf(kind Tagged, id string) ([]Tag, error) {
	switch cluster, definition, task, host := v.Cluster(id), v.Definition(id), v.Task(id), v.Host(id); {
	case kind == TaggedProvider:
		if provider := v.CapacityProvider(id); provider != nil {
			return provider.Tags, nil
		}
	case kind == TaggedCluster && cluster != nil:
		return cluster.Tags, nil
	case kind == TaggedDefinition && definition != nil && definition.Name() == id:
		return definition.Tags, nil
	case kind == TaggedTask && task != nil:
		return task.Tags, nil
	case kind == TaggedHost && host != nil:
		return host.Tags, nil
	}
	return nil, fmt.Errorf("%s %q: %w", strings.ReplaceAll(string(kind), "-", " "), id, ErrNotFound)
}

// SetTags removes tags of a resource and then puts others, each in place of the one with its key. ErrNotFound, ErrInactive
// for a cluster or capacity provider that was deleted and a task that is STOPPED, ErrInUse for the built-in capacity
// provider, ErrTooManyTags. Answer: []Tag, all that the resource has now.
type SetTags struct {
	Kind   Tagged
	ID     string // as in TagsOf
	Put    []Tag
	Remove []string // keys
}

func (c SetTags) apply(tx *tx) (any, error) {
	before, err := tx.TagsOf(c.Kind, c.ID)
	if err != nil {
		return nil, err
	}
	if c.Kind == TaggedProvider && c.ID == BuiltinCapacityProvider {
		return nil, errBuiltin
	}
	if c.over(&tx.View) {
		return nil, fmt.Errorf("%s %s: %w", c.Kind, c.ID, ErrInactive)
	}
	tags := c.change(before)
	if own := slices.DeleteFunc(slices.Clone(tags), Tag.reserved); len(own) > MaxTags {
		return nil, fmt.Errorf("%s %s: %w", c.Kind, c.ID, ErrTooManyTags)
	}
	if slices.Equal(tags, before) {
		return before, nil
	}
	if c.Kind == TaggedTask && isGang(tags) != isGang(before) {
		return nil, fmt.Errorf("task %s: %w: the tag %s says how it was run and stays as it is", c.ID, ErrInUse, TagGang)
	}
	switch c.Kind {
	case TaggedCluster:
		putChanged(tx, tableClusters, tx.Cluster(c.ID), func(k *Cluster) { k.Tags = tags })
	case TaggedDefinition:
		putChanged(tx, tableDefinitions, tx.Definition(c.ID), func(d *TaskDefinition) { d.Tags = tags })
	case TaggedTask:
		putChanged(tx, tableTasks, tx.Task(c.ID), func(t *Task) { t.Tags, t.Version = tags, t.Version+1 })
	case TaggedHost:
		putChanged(tx, tableHosts, tx.Host(c.ID), func(h *Host) { h.Tags, h.Revision = tags, h.Revision+1 })
	case TaggedProvider:
		putChanged(tx, tableCapacityProviders, tx.CapacityProvider(c.ID), func(p *CapacityProvider) { p.Tags = tags })
	}
	return tags, nil
}

// over says whether the resource has ended, so that nothing about it changes any more.
func (c SetTags) over(v *View) bool {
	switch c.Kind {
	case TaggedCluster:
		return v.Cluster(c.ID).Status == ClusterInactive
	case TaggedTask:
		return v.Task(c.ID).LastStatus == Stopped
	case TaggedProvider:
		return v.CapacityProvider(c.ID).Status == CapacityProviderInactive
	}
	return false
}

func (t Tag) reserved() bool { return strings.HasPrefix(strings.ToLower(t.Key), ReservedTag) }

func (c SetTags) change(before []Tag) []Tag {
	tags := slices.DeleteFunc(slices.Clone(before), func(t Tag) bool { return slices.Contains(c.Remove, t.Key) })
	for _, tag := range c.Put {
		at := slices.IndexFunc(tags, func(t Tag) bool { return t.Key == tag.Key })
		if at < 0 {
			tags = append(tags, tag)
			continue
		}
		tags[at] = tag
	}
	return tags
}

// putChanged puts a changed copy of an object.
func putChanged[T any](tx *tx, table relation, known *T, change func(*T)) {
	changed := *known
	change(&changed)
	tx.put(table, &changed)
}
