// Package team has the teams that tasks count for: their quotas and weights, how the state keeps them, and the commands that change them. Package
// raftfsm registers both.
package team

import (
	"fmt"
	"slices"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Team is the quota and the weight of the tasks with one value of the tag spec.TagTeam. A team without a record has no quota and weight 1.
type Team struct {
	Name   string `json:"name"`
	GPUs   *int   `json:"gpus,omitempty"` // its quota: the GPUs that it has a right to; nil: none, every GPU is as good as borrowed
	Weight int    `json:"weight"`         // 1 to MaxWeight: its part of what teams share
}

// MaxWeight is the highest weight of a team.
const MaxWeight = 1000

// ByName has every recorded team.
var ByName = table.By(func(t *Team) string { return t.Name })

// Find returns the recorded settings of a team, or the defaults.
func Find(r table.Reader, name string) *Team {
	if known := ByName.Get(r, sortkey.Key{First: name}); known != nil {
		return known
	}
	return &Team{Name: name, Weight: 1}
}

// All lists the recorded teams by name.
func All(r table.Reader) []*Team { return slices.Collect(ByName.All(r)) }

// Put records a team's quota and weight. Answer: *Team.
type Put struct{ Team Team }

// Apply carries the command out.
func (c Put) Apply(tx command.Transaction) (any, error) {
	if c.Team.Weight < 1 || c.Team.Weight > MaxWeight {
		return nil, fmt.Errorf("team %q: its weight is 1 to %d, not %d", c.Team.Name, MaxWeight, c.Team.Weight)
	}
	if c.Team.GPUs != nil && *c.Team.GPUs < 0 {
		return nil, fmt.Errorf("team %q: its quota is a number of GPUs from 0, not %d", c.Team.Name, *c.Team.GPUs)
	}
	tx.Put(&c.Team)
	return &c.Team, nil
}

// Delete deletes the record of a team. spec.ErrNotFound. Answer: nil.
type Delete struct{ Name string }

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	known := ByName.Get(tx, sortkey.Key{First: c.Name})
	if known == nil {
		return nil, fmt.Errorf("team %q: %w", c.Name, spec.ErrNotFound)
	}
	tx.Remove(known)
	return nil, nil
}
