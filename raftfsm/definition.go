package raftfsm

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableDefinitions = register(noun[spec.TaskDefinition]{
		table: "definitions", indexes: []*table.Index[spec.TaskDefinition]{definitionsByName, definitionsActive, definitionsInactive, definitionsDeleting}, refersTo: []string{"families"},
		commands:  []kind{kindOf[RegisterDefinition](21, 1), kindOf[DeregisterDefinition](22, 1), kindOf[DeleteDefinitions](23, 1)},
		noChanges: "ECS has no event of it",
		expired:   func(v *View, r Reap) iter.Seq[*spec.TaskDefinition] { return slices.Values(v.unusedDefinitions(r)) },
		tags: &tagging[spec.TaskDefinition]{
			kind: spec.ResourceDefinition, find: (*View).exactDefinition, tags: func(d *spec.TaskDefinition) *[]spec.Tag { return &d.Tags },
		},
	})
	definitionsByName   = byRevision()
	definitionsActive   = byRevision().Where(func(d *spec.TaskDefinition) bool { return d.Status == spec.DefinitionActive })
	definitionsInactive = byRevision().Where(func(d *spec.TaskDefinition) bool { return d.Status == spec.DefinitionInactive })
	definitionsDeleting = byRevision().Where(func(d *spec.TaskDefinition) bool { return d.Status == spec.DefinitionDeleting })

	tableFamilies = register(noun[family]{
		table: "families", indexes: []*table.Index[family]{familiesByName},
		noChanges: "it is a counter", noExpiry: "a revision is never used twice, whatever became of its family",
	})
	familiesByName = table.By(func(f *family) string { return f.Name })
)

func byRevision() *table.Index[spec.TaskDefinition] {
	return table.By(func(d *spec.TaskDefinition) string { return d.Family }).ThenNumber(func(d *spec.TaskDefinition) int64 { return int64(d.Revision) })
}

// exactDefinition finds a definition by family:revision only.
func (v *View) exactDefinition(name string) *spec.TaskDefinition {
	if known := v.Definition(name); known != nil && known.Name() == name {
		return known
	}
	return nil
}

// family records the last revision of a family, so that no number is used twice, and whose the family is, which never changes.
type family struct {
	Name         string          `json:"name"`
	LastRevision int             `json:"lastRevision"`
	Clusters     spec.ClusterSet `json:"clusters,omitempty" level:"1"` // of the key that made it; empty: the whole pool
}

// FamilyClusters returns the clusters that a family belongs to, empty for the whole pool; known is false when there never was such a
// family.
func (v *View) FamilyClusters(name string) (clusters spec.ClusterSet, known bool) {
	if found := familiesByName.Get(v, sortkey.Key{First: name}); found != nil {
		return found.Clusters, true
	}
	return "", false
}

// RegisterDefinition stores the definition under the next revision of its family. A new family belongs to Clusters; a family that
// does not belong to those of Clusters alone is ErrForeign, unless Clusters is empty. ErrLimit. Answer: *TaskDefinition.
type RegisterDefinition struct {
	Definition spec.TaskDefinition
	Clusters   spec.ClusterSet `json:",omitempty" level:"1"` // of the caller's key; empty: all
}

func (c RegisterDefinition) apply(tx *tx) (any, error) {
	next := family{Name: c.Definition.Family, LastRevision: 1, Clusters: c.Clusters}
	if known := familiesByName.Get(&tx.View, sortkey.Key{First: next.Name}); known != nil {
		next = *known
		next.LastRevision++
	}
	if !c.Clusters.Contains(next.Clusters) {
		return nil, fmt.Errorf("the family %s %w", next.Name, spec.ErrForeign)
	}
	if err := tx.checkRevision(&c.Definition); err != nil {
		return nil, err
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
// Their numbers are not used again. Unknown and ACTIVE revisions are skipped and missing in the answer, but for those of daemons, which are never
// INACTIVE. Answer: []*TaskDefinition, in the order of Names.
type DeleteDefinitions struct {
	Names []string // family:revision
	At    time.Time
}

func (c DeleteDefinitions) apply(tx *tx) (any, error) {
	deleted := []*spec.TaskDefinition{}
	for _, name := range c.Names {
		known := tx.Definition(name)
		if known == nil || known.Name() != name || known.Status == spec.DefinitionActive && !spec.IsOfDaemons(name) {
			continue
		}
		if known.Status != spec.DefinitionDeleting {
			deleting := *known
			deleting.Status, deleting.DeleteRequestedAt = spec.DefinitionDeleting, c.At
			tx.put(tableDefinitions, &deleting)
			known = &deleting
		}
		deleted = append(deleted, known)
	}
	return deleted, nil
}

// unusedDefinitions lists the revisions that expire, without those that a task or a service has: deleted ones, and those that were INACTIVE for
// long.
func (v *View) unusedDefinitions(r Reap) []*spec.TaskDefinition {
	expired := map[string]*spec.TaskDefinition{}
	for definition := range definitionsDeleting.All(v) {
		expired[definition.Name()] = definition
	}
	for definition := range definitionsInactive.All(v) {
		if definition.DeregisteredAt.Before(r.InactiveBefore) {
			expired[definition.Name()] = definition
		}
	}
	if len(expired) == 0 {
		return nil
	}
	for task := range tasksByID.All(v) {
		delete(expired, task.Definition)
	}
	for s := range servicesByID.All(v) {
		for _, deployment := range s.Deployments { // more tasks may be made of them
			delete(expired, deployment.Definition)
		}
	}
	return slices.SortedFunc(maps.Values(expired), func(a, b *spec.TaskDefinition) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Revision, b.Revision))
	})
}
