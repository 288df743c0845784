package raftfsm

import (
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/teamusage"
)

var (
	tableUsage = register(noun[teamusage.Record]{
		table: "usage", indexes: []*table.Index[teamusage.Record]{usageByTeam},
		noChanges: "it follows from tasks, whose changes are told",
		expired: func(v *View, r Reap) iter.Seq[*teamusage.Record] {
			oldest := teamusage.Oldest(r.Before)
			return usageByTeam.Matching(v, func(u *teamusage.Record) bool { return len(u.Hours) == 0 || u.Hours[len(u.Hours)-1].Hour < oldest })
		},
	})
	usageByTeam = table.By(func(u *teamusage.Record) string { return u.Team })
)

// Usages lists the recorded usage by team.
func (v *View) Usages() []*teamusage.Record { return slices.Collect(usageByTeam.All(v)) }

// recordUsage adds the GPU time of reaped tasks, and drops hours that are too old.
func (tx *tx) recordUsage(forgotten []*spec.Task, before time.Time) {
	for team, hours := range teamusage.GPUSecondsOf(forgotten, before.Add(-teamusage.Retention)) {
		tx.put(tableUsage, tx.usage(team).Plus(hours, teamusage.Oldest(before)))
	}
}

func (v *View) usage(team string) *teamusage.Record {
	if known := usageByTeam.Get(v, sortkey.Key{First: team}); known != nil {
		return known
	}
	return &teamusage.Record{Team: team}
}
