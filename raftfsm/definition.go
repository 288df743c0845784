package raftfsm

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

var (
	tableDefinitions = register(noun[spec.TaskDefinition]{
		table: "definitions", indexes: []*index[spec.TaskDefinition]{definitionsByName, definitionsActive, definitionsDeleting}, refersTo: []string{"families"},
		commands:  []kind{kindOf[RegisterDefinition](21, 1), kindOf[DeregisterDefinition](22, 1), kindOf[DeleteDefinitions](23, 1)},
		noChanges: "ECS has no event of it",
		expired:   func(v *View, _ Reap) iter.Seq[*spec.TaskDefinition] { return slices.Values(v.unusedDefinitions()) },
		tags: &tagging[spec.TaskDefinition]{
			kind: spec.ResourceDefinition, find: (*View).exactDefinition, tags: func(d *spec.TaskDefinition) *[]spec.Tag { return &d.Tags },
		},
	})
	definitionsByName   = byRevision()
	definitionsActive   = byRevision().where(func(d *spec.TaskDefinition) bool { return d.Status == spec.DefinitionActive })
	definitionsDeleting = byRevision().where(func(d *spec.TaskDefinition) bool { return d.Status == spec.DefinitionDeleting })

	tableFamilies = register(noun[family]{
		table: "families", indexes: []*index[family]{familiesByName},
		noChanges: "it is a counter", noExpiry: "a revision is never used twice, whatever became of its family",
	})
	familiesByName = indexBy(func(f *family) string { return f.Name })
)

func byRevision() *index[spec.TaskDefinition] {
	return indexBy(func(d *spec.TaskDefinition) string { return d.Family }).thenNumber(func(d *spec.TaskDefinition) int64 { return int64(d.Revision) })
}

// exactDefinition finds a definition by family:revision only.
func (v *View) exactDefinition(name string) *spec.TaskDefinition {
	if known := v.Definition(name); known != nil && known.Name() == name {
		return known
	}
	return nil
}

// family records the last revision of a family, so that no number is used twice.
type family struct {
	Name         string `json:"name"`
	LastRevision int    `json:"lastRevision"`
}

// RegisterDefinition stores the definition under the next revision of its family. Answer: *TaskDefinition.
type RegisterDefinition struct{ Definition spec.TaskDefinition }

func (c RegisterDefinition) apply(tx *tx) (any, error) {
	next := family{Name: c.Definition.Family, LastRevision: 1}
	if known := familiesByName.get(&tx.View, indexKey{first: next.Name}); known != nil {
		next.LastRevision = known.LastRevision + 1
	}
	c.Definition.Revision, c.Definition.Status = next.LastRevision, spec.DefinitionActive
	tx.put(tableFamilies, &next)
	tx.put(tableDefinitions, &c.Definition)
	return &c.Definition, nil
}

// DeregisterDefinition makes an ACTIVE revision INACTIVE; another one is not changed. ErrNotFound. Answer: *TaskDefinition.
type DeregisterDefinition struct {
	Name string // family:revision
	At   time.Time
}

func (c DeregisterDefinition) apply(tx *tx) (any, error) {
	known := tx.Definition(c.Name)
	if known == nil || known.Name() != c.Name {
		return nil, fmt.Errorf("task definition %q: %w", c.Name, spec.ErrNotFound)
	}
	if known.Status != spec.DefinitionActive {
		return known, nil
	}
	inactive := *known
	inactive.Status, inactive.DeregisteredAt = spec.DefinitionInactive, c.At
	tx.put(tableDefinitions, &inactive)
	return &inactive, nil
}

// DeleteDefinitions makes INACTIVE revisions DELETE_IN_PROGRESS; Reap deletes them when no task refers to them any more.
// Their numbers are not used again. Unknown and ACTIVE revisions are skipped and missing in the answer. Answer:
// []*TaskDefinition, in the order of Names.
type DeleteDefinitions struct {
	Names []string // family:revision
	At    time.Time
}

func (c DeleteDefinitions) apply(tx *tx) (any, error) {
	deleted := []*spec.TaskDefinition{}
	for _, name := range c.Names {
		known := tx.Definition(name)
		if known == nil || known.Name() != name || known.Status == spec.DefinitionActive {
			continue
		}
		if known.Status == spec.DefinitionInactive {
			deleting := *known
			deleting.Status, deleting.DeleteRequestedAt = spec.DefinitionDeleting, c.At
			tx.put(tableDefinitions, &deleting)
			known = &deleting
		}
		deleted = append(deleted, known)
	}
	return deleted, nil
}

// unusedDefinitions lists the deleted definitions that no recorded task refers to.
func (v *View) unusedDefinitions() []*spec.TaskDefinition {
	deleting := map[string]*spec.TaskDefinition{}
	for definition := range definitionsDeleting.all(v) {
		deleting[definition.Name()] = definition
	}
	if len(deleting) == 0 {
		return nil
	}
	for task := range tasksByID.all(v) {
		delete(deleting, task.Definition)
	}
	var unused []*spec.TaskDefinition
	for definition := range definitionsDeleting.all(v) {
		if deleting[definition.Name()] != nil {
			unused = append(unused, definition)
		}
	}
	return unused
}
