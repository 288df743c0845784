package raftfsm

import (
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableUsage = register(noun[spec.Usage]{
		table: "usage", indexes: []*table.Index[spec.Usage]{usageByTeam},
		noChanges: "it follows from tasks, whose changes are told",
		expired: func(v *View, r Reap) iter.Seq[*spec.Usage] {
			oldest := oldestUsage(r.Before)
			return usageByTeam.Matching(v, func(u *spec.Usage) bool { return len(u.Hours) == 0 || u.Hours[len(u.Hours)-1].Hour < oldest })
		},
	})
	usageByTeam = table.By(func(u *spec.Usage) string { return u.Team })
)

// oldestUsage is the first hour whose usage counts.
func oldestUsage(before time.Time) int64 { return before.Add(-spec.UsageRetention).Unix() / 3600 }

// Usages lists the recorded usage by team.
func (v *View) Usages() []*spec.Usage { return slices.Collect(usageByTeam.All(v)) }

// recordUsage adds the GPU time of reaped tasks, and drops hours that are too old.
func (tx *tx) recordUsage(forgotten []*spec.Task, before time.Time) {
	for team, hours := range spec.GPUSecondsOf(forgotten, before.Add(-spec.UsageRetention)) {
		tx.put(tableUsage, tx.usage(team).Plus(hours, oldestUsage(before)))
	}
}

func (v *View) usage(team string) *spec.Usage {
	if known := usageByTeam.Get(v, sortkey.Key{First: team}); known != nil {
		return known
	}
	return &spec.Usage{Team: team}
}
