package raftfsm

import (
	"time"

	"pinion/raftfsm/spec"
)

// DeleteDefinitions makes INACTIVE revisions DELETE_IN_PROGRESS; Reap forgets them when no task refers to them any more.
// Their numbers are not used again. What is unknown or ACTIVE is left alone and out of the answer. Answer:
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

// unusedDefinitions lists the deleted definitions that no task on record refers to.
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
