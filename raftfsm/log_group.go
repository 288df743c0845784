package raftfsm

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableLogGroups = register(noun[spec.LogGroup]{
		table: "logGroups", indexes: []*table.Index[spec.LogGroup]{logGroupsByName},
		commands:  []kind{kindOf[CreateLogGroup](60, 1), kindOf[SetLogRetention](61, 1), kindOf[DeleteLogGroup](62, 1)},
		noChanges: "ECS has no event of it",
		expired: func(v *View, r Reap) iter.Seq[*spec.LogGroup] {
			gone := r.Before.Add(-spec.LogRetention)
			return logGroupsByName.Matching(v, func(g *spec.LogGroup) bool { return !g.Exists() && g.DeletedAt.Before(gone) })
		},
		tags: &tagging[spec.LogGroup]{
			kind: spec.ResourceLogGroup, find: (*View).LogGroup, tags: func(g *spec.LogGroup) *[]spec.Tag { return &g.Tags },
		},
	})
	logGroupsByName = table.By(func(g *spec.LogGroup) string { return g.Name })
)

// LogGroup returns a log group that was created; nil when none has the name.
func (v *View) LogGroup(name string) *spec.LogGroup {
	if known := v.logGroup(name); known.Exists() {
		return known
	}
	return nil
}

// LogGroups lists the log groups that were created, by name.
func (v *View) LogGroups() []*spec.LogGroup {
	return slices.Collect(logGroupsByName.Matching(v, (*spec.LogGroup).Exists))
}

// LogsDeletedAt is when a log group was deleted last, with all that had been written; zero: never, or so long ago that nothing is left.
func (v *View) LogsDeletedAt(group string) time.Time { return v.logGroup(group).DeletedAt }

// DeletedLogGroups lists the log groups that were deleted, and perhaps created again, by name.
func (v *View) DeletedLogGroups() []*spec.LogGroup {
	return slices.Collect(logGroupsByName.Matching(v, func(g *spec.LogGroup) bool { return !g.DeletedAt.IsZero() }))
}

// logGroup is what the state has of a group, never nil.
func (v *View) logGroup(name string) *spec.LogGroup {
	if known := logGroupsByName.Get(v, sortkey.Key{First: name}); known != nil {
		return known
	}
	return &spec.LogGroup{Name: name}
}

// CreateLogGroup records a log group. ErrInUse when there is one of that name; ErrTooManyLogGroups. Answer: *LogGroup.
type CreateLogGroup struct{ Group spec.LogGroup }

func (c CreateLogGroup) apply(tx *tx) (any, error) {
	if tx.LogGroup(c.Group.Name) != nil {
		return nil, fmt.Errorf("log group %q: %w: there is one of that name", c.Group.Name, spec.ErrInUse)
	}
	if len(tx.LogGroups()) >= spec.MaxLogGroups {
		return nil, fmt.Errorf("log group %q: %w", c.Group.Name, spec.ErrTooManyLogGroups)
	}
	c.Group.DeletedAt = tx.LogsDeletedAt(c.Group.Name)
	tx.put(tableLogGroups, &c.Group)
	return &c.Group, nil
}

// SetLogRetention sets how many days the logs of a group are kept; 0 is the hosts' default. ErrNotFound. Answer: *LogGroup.
type SetLogRetention struct {
	Name string
	Days int
}

func (c SetLogRetention) apply(tx *tx) (any, error) {
	known := tx.LogGroup(c.Name)
	if known == nil {
		return nil, fmt.Errorf("log group %q: %w", c.Name, spec.ErrNotFound)
	}
	if known.RetentionDays == c.Days {
		return known, nil
	}
	changed := *known
	changed.RetentionDays = c.Days
	tx.put(tableLogGroups, &changed)
	return &changed, nil
}

// DeleteLogGroup deletes a log group with its retention, its tags and what was written to it until At. A group that was not created has
// logs too. Of deleted groups the latest spec.MaxLogGroups are remembered. ErrNotFound without At, which earlier versions wrote. Answer: nil.
type DeleteLogGroup struct {
	Name string
	At   time.Time `json:",omitzero" level:"1"`
}

func (c DeleteLogGroup) apply(tx *tx) (any, error) {
	known := tx.LogGroup(c.Name)
	if known == nil && c.At.IsZero() {
		return nil, fmt.Errorf("log group %q: %w", c.Name, spec.ErrNotFound)
	}
	if c.At.IsZero() {
		tx.remove(tableLogGroups, known)
		return nil, nil
	}
	tx.put(tableLogGroups, &spec.LogGroup{Name: c.Name, DeletedAt: c.At})
	deleted := slices.DeleteFunc(tx.DeletedLogGroups(), (*spec.LogGroup).Exists)
	if len(deleted) > spec.MaxLogGroups {
		tx.remove(tableLogGroups, slices.MinFunc(deleted, func(a, b *spec.LogGroup) int { return a.DeletedAt.Compare(b.DeletedAt) }))
	}
	return nil, nil
}
