package raftfsm

import (
	"fmt"
	"slices"

	"pinion/raftfsm/spec"
)

var (
	tableLogGroups = register(noun[spec.LogGroup]{
		table: "logGroups", indexes: []*index[spec.LogGroup]{logGroupsByName},
		commands:  []kind{kindOf[CreateLogGroup](60, 1), kindOf[SetLogRetention](61, 1), kindOf[DeleteLogGroup](62, 1)},
		noChanges: "ECS has no event of it", noExpiry: "DeleteLogGroup deletes it",
		tags: &tagging[spec.LogGroup]{
			kind: spec.ResourceLogGroup, find: (*View).LogGroup, tags: func(g *spec.LogGroup) *[]spec.Tag { return &g.Tags },
		},
	})
	logGroupsByName = indexBy(func(g *spec.LogGroup) string { return g.Name })
)

// LogGroup returns a log group that was created; nil when none has the name.
func (v *View) LogGroup(name string) *spec.LogGroup {
	return logGroupsByName.get(v, indexKey{first: name})
}

// LogGroups lists the log groups that were created, by name.
func (v *View) LogGroups() []*spec.LogGroup { return slices.Collect(logGroupsByName.all(v)) }

// CreateLogGroup records a log group. ErrInUse when there is one of that name; ErrTooManyLogGroups. Answer: *LogGroup.
type CreateLogGroup struct{ Group spec.LogGroup }

func (c CreateLogGroup) apply(tx *tx) (any, error) {
	if tx.LogGroup(c.Group.Name) != nil {
		return nil, fmt.Errorf("log group %q: %w: there is one of that name", c.Group.Name, spec.ErrInUse)
	}
	if len(tx.LogGroups()) >= spec.MaxLogGroups {
		return nil, fmt.Errorf("log group %q: %w", c.Group.Name, spec.ErrTooManyLogGroups)
	}
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

// DeleteLogGroup deletes a log group with its retention and its tags. ErrNotFound. Answer: nil.
type DeleteLogGroup struct{ Name string }

func (c DeleteLogGroup) apply(tx *tx) (any, error) {
	known := tx.LogGroup(c.Name)
	if known == nil {
		return nil, fmt.Errorf("log group %q: %w", c.Name, spec.ErrNotFound)
	}
	tx.remove(tableLogGroups, known)
	return nil, nil
}
