package raftfsm

import (
	"fmt"

	"pinion/raftfsm/spec"
)

func (t *table[T]) references() []string      { return t.refersTo }
func (t *table[T]) commandKinds() []kind      { return t.commands }
func (t *table[T]) changeKinds() []ChangeKind { return t.told }

func (t *table[T]) changesOf(before, after any) []*Change {
	was, _ := before.(*T)
	is, _ := after.(*T)
	if t.changes == nil || was == nil && is == nil {
		return nil
	}
	return t.changes(was, is)
}

func (t *table[T]) hasExpired(v *View, r Reap) bool {
	if t.expired == nil {
		return false
	}
	for range t.expired(v, r) {
		return true
	}
	return false
}

func (t *table[T]) reap(tx *tx, r Reap) int {
	if t.expired == nil {
		return 0
	}
	var gone []*T
	for object := range t.expired(&tx.View, r) {
		tx.remove(t, object)
		gone = append(gone, object)
	}
	if t.reaped != nil {
		t.reaped(tx, gone, r)
	}
	return len(gone)
}

func (t *table[T]) keeps(v *View, cluster string) error {
	if t.keepsCluster == nil {
		return nil
	}
	return t.keepsCluster(v, cluster)
}

func (t *table[T]) resourceKind() spec.ResourceKind {
	if t.tags == nil {
		return ""
	}
	return t.tags.kind
}

func (t *table[T]) tagsOf(v *View, id string) (tags []spec.Tag, found bool) {
	object := t.tags.find(v, id)
	if object == nil {
		return nil, false
	}
	return *t.tags.tags(object), true
}

func (t *table[T]) setTags(tx *tx, c SetTags) ([]spec.Tag, error) {
	object := t.tags.find(&tx.View, c.ID)
	if object == nil {
		return nil, c.notFound()
	}
	if t.tags.closed != nil {
		if err := t.tags.closed(object); err != nil {
			return nil, err
		}
	}
	before := *t.tags.tags(object)
	tags, err := c.change(before)
	if err != nil || tags == nil {
		return before, err
	}
	if t.tags.check != nil {
		if err := t.tags.check(object, tags); err != nil {
			return nil, fmt.Errorf("%s %s: %w", c.Kind, c.ID, err)
		}
	}
	changed := *object
	*t.tags.tags(&changed) = tags
	if t.tags.change != nil {
		t.tags.change(&changed)
	}
	tx.put(t, &changed)
	return tags, nil
}
