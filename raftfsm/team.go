package raftfsm

import (
	"fmt"
	"slices"
)

// Team is what a group of tasks (TagTeam) may use and how much it counts for. A team without a record has no quota and
// weight 1.
type Team struct {
	Name   string `json:"name"`
	GPUs   *int   `json:"gpus,omitempty"` // its quota: what it has a right to; nil: none, every GPU is as good as borrowed
	Weight int    `json:"weight"`         // 1 to MaxWeight: its part of what teams share
}

// MaxWeight is the highest weight of a team.
const MaxWeight = 1000

// Team is what is on record of a team, or what counts for one that is not.
func (v *View) Team(name string) *Team {
	if known := teamsByName.get(v, key{first: name}); known != nil {
		return known
	}
	return &Team{Name: name, Weight: 1}
}

// Teams lists those on record by name.
func (v *View) Teams() []*Team { return slices.Collect(teamsByName.all(v)) }

// PutTeam records a team's quota and weight. Answer: *Team.
type PutTeam struct{ Team Team }

func (c PutTeam) apply(tx *tx) (any, error) {
	if c.Team.Weight < 1 || c.Team.Weight > MaxWeight {
		return nil, fmt.Errorf("team %q: its weight is 1 to %d, not %d", c.Team.Name, MaxWeight, c.Team.Weight)
	}
	if c.Team.GPUs != nil && *c.Team.GPUs < 0 {
		return nil, fmt.Errorf("team %q: its quota is a number of GPUs from 0, not %d", c.Team.Name, *c.Team.GPUs)
	}
	tx.put(tableTeams, &c.Team)
	return &c.Team, nil
}

// RemoveTeam forgets what is on record of a team. ErrNotFound. Answer: nil.
type RemoveTeam struct{ Name string }

func (c RemoveTeam) apply(tx *tx) (any, error) {
	known := teamsByName.get(&tx.View, key{first: c.Name})
	if known == nil {
		return nil, fmt.Errorf("team %q: %w", c.Name, ErrNotFound)
	}
	tx.remove(tableTeams, known)
	return nil, nil
}
