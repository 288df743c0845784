package raftfsm

import (
	"fmt"
	"slices"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableTeams = register(noun[spec.Team]{
		table: "teams", indexes: []*table.Index[spec.Team]{teamsByName},
		commands:  []kind{kindOf[PutTeam](31, 1), kindOf[DeleteTeam](32, 1)},
		noChanges: "the queue controller reads the teams several times a second", noExpiry: "DeleteTeam deletes it",
	})
	teamsByName = table.By(func(t *spec.Team) string { return t.Name })
)

// Team returns the recorded settings of a team, or the defaults.
func (v *View) Team(name string) *spec.Team {
	if known := teamsByName.Get(v, sortkey.Key{First: name}); known != nil {
		return known
	}
	return &spec.Team{Name: name, Weight: 1}
}

// Teams lists the recorded teams by name.
func (v *View) Teams() []*spec.Team { return slices.Collect(teamsByName.All(v)) }

// PutTeam records a team's quota and weight. Answer: *Team.
type PutTeam struct{ Team spec.Team }

func (c PutTeam) apply(tx *tx) (any, error) {
	if c.Team.Weight < 1 || c.Team.Weight > spec.MaxWeight {
		return nil, fmt.Errorf("team %q: its weight is 1 to %d, not %d", c.Team.Name, spec.MaxWeight, c.Team.Weight)
	}
	if c.Team.GPUs != nil && *c.Team.GPUs < 0 {
		return nil, fmt.Errorf("team %q: its quota is a number of GPUs from 0, not %d", c.Team.Name, *c.Team.GPUs)
	}
	tx.put(tableTeams, &c.Team)
	return &c.Team, nil
}

// DeleteTeam deletes the record of a team. ErrNotFound. Answer: nil.
type DeleteTeam struct{ Name string }

func (c DeleteTeam) apply(tx *tx) (any, error) {
	known := teamsByName.Get(&tx.View, sortkey.Key{First: c.Name})
	if known == nil {
		return nil, fmt.Errorf("team %q: %w", c.Name, spec.ErrNotFound)
	}
	tx.remove(tableTeams, known)
	return nil, nil
}
