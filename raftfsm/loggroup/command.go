package loggroup

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/spec"
)

// Create records a log group. spec.ErrInUse when there is one of that name; ErrTooMany. Answer: *Group.
type Create struct{ Group Group }

// Apply carries the command out.
func (c Create) Apply(tx command.Transaction) (any, error) {
	if Find(tx, c.Group.Name) != nil {
		return nil, fmt.Errorf("log group %q: %w: there is one of that name", c.Group.Name, spec.ErrInUse)
	}
	if len(All(tx)) >= Max {
		return nil, fmt.Errorf("log group %q: %w", c.Group.Name, ErrTooMany)
	}
	c.Group.DeletedAt = DeletedAt(tx, c.Group.Name)
	tx.Put(&c.Group)
	return &c.Group, nil
}

// SetRetention sets how many days the logs of a group are kept; 0 is the hosts' default. spec.ErrNotFound. Answer: *Group.
type SetRetention struct {
	Name string
	Days int
}

// Apply carries the command out.
func (c SetRetention) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.Name)
	if known == nil {
		return nil, fmt.Errorf("log group %q: %w", c.Name, spec.ErrNotFound)
	}
	if known.RetentionDays == c.Days {
		return known, nil
	}
	changed := *known
	changed.RetentionDays = c.Days
	tx.Put(&changed)
	return &changed, nil
}

// Delete deletes a log group with its retention, its tags and what was written to it until At. A group that was not created has logs too. Of
// deleted groups the latest Max are remembered. spec.ErrNotFound without At, which earlier versions wrote. Answer: nil.
type Delete struct {
	Name string
	At   time.Time `json:",omitzero" level:"1"`
}

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.Name)
	if known == nil && c.At.IsZero() {
		return nil, fmt.Errorf("log group %q: %w", c.Name, spec.ErrNotFound)
	}
	if c.At.IsZero() {
		tx.Remove(known)
		return nil, nil
	}
	tx.Put(&Group{Name: c.Name, DeletedAt: c.At})
	deleted := slices.DeleteFunc(Deleted(tx), (*Group).Exists)
	if len(deleted) > Max {
		tx.Remove(slices.MinFunc(deleted, func(a, b *Group) int { return a.DeletedAt.Compare(b.DeletedAt) }))
	}
	return nil, nil
}
