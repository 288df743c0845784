package raftfsm

import (
	"fmt"
	"time"

	"pinion/raftfsm/spec"
)

// family remembers the last revision that was given out, so that none is ever used twice.
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

// DeregisterDefinition makes a revision INACTIVE; one that is not ACTIVE stays as it is. ErrNotFound.
// Answer: *TaskDefinition.
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
