package raftfsm

import (
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/gpuuse"
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
	for team, hours := range usageOf(forgotten, before.Add(-spec.UsageRetention)) {
		tx.put(tableUsage, tx.usage(team).Plus(hours, oldestUsage(before)))
	}
}

func (v *View) usage(team string) *spec.Usage {
	if known := usageByTeam.Get(v, sortkey.Key{First: team}); known != nil {
		return known
	}
	return &spec.Usage{Team: team}
}

// usageOf is the GPU time of stopped tasks since then: the GPU-seconds of each team by hour. A share of a GPU counts for its part of it.
func usageOf(tasks []*spec.Task, since time.Time) map[string]map[int64]int64 {
	byTeam := map[string]map[int64]int64{}
	for _, task := range tasks {
		if milli := int64(task.GPUMilli()); milli > 0 && !task.Times.Started.IsZero() {
			team := task.SchedulingOptions().Team
			if byTeam[team] == nil {
				byTeam[team] = map[int64]int64{}
			}
			spreadOverHours(byTeam[team], milli, max(task.Times.Started.Unix(), since.Unix()), task.Times.Stopped.Unix())
		}
	}
	return byTeam
}

// spreadOverHours adds the GPU-seconds of a span of time, in seconds since 1970, to each of its hours, to the nearest second.
func spreadOverHours(hours map[int64]int64, milli, from, to int64) {
	for from < to {
		hour := from / 3600
		next := min(to, (hour+1)*3600)
		hours[hour] += gpuuse.Seconds(milli, next-from)
		from = next
	}
}
