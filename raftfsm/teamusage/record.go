// Package teamusage has the GPU time of the tasks of teams that the state has forgotten, hour by hour.
//
// Usage outlives tasks. Reap adds up GPU-seconds by team and hour for eight days, in whole numbers; decay is the queue's business, as fractions
// could differ between machines.
package teamusage

import (
	"slices"
	"time"

	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
)

// Retention is the time for which the usage of teams is remembered: much longer than it counts for.
const Retention = 8 * 24 * time.Hour

// Oldest is the first hour whose usage counts, since 1970.
func Oldest(before time.Time) int64 { return before.Add(-Retention).Unix() / 3600 }

// Record is the GPU time of a team's tasks that are forgotten by now. What the state still has of tasks is not in it.
type Record struct {
	Team  string `json:"team"`
	Hours []Hour `json:"hours"` // the oldest first, those within Retention; hours without any are left out
}

// Hour is the GPU time of one hour.
type Hour struct {
	Hour       int64 `json:"hour"` // since 1970
	GPUSeconds int64 `json:"gpuSeconds"`
}

// Start returns the time at which the hour begins.
func (h Hour) Start() time.Time { return time.Unix(h.Hour*3600, 0) }

// Plus is the usage with more GPU-seconds by hour, and without those before the oldest that counts.
func (r *Record) Plus(more map[int64]int64, oldest int64) *Record {
	for _, hour := range r.Hours {
		more[hour.Hour] += hour.GPUSeconds
	}
	sum := &Record{Team: r.Team}
	for hour, seconds := range more {
		if hour >= oldest {
			sum.Hours = append(sum.Hours, Hour{Hour: hour, GPUSeconds: seconds})
		}
	}
	slices.SortFunc(sum.Hours, func(a, b Hour) int { return int(a.Hour - b.Hour) })
	return sum
}

// GPUSecondsOf is the GPU time of stopped tasks since then: the GPU-seconds of each team by hour. A share of a GPU counts for its part of it.
func GPUSecondsOf(tasks []*spec.Task, since time.Time) map[string]map[int64]int64 {
	byTeam := map[string]map[int64]int64{}
	for _, task := range tasks {
		if milli := int64(task.GPUMilli()); milli > 0 && !task.Times.Started.IsZero() {
			team := task.SchedulingOptions().Team
			if byTeam[team] == nil {
				byTeam[team] = map[int64]int64{}
			}
			gpuuse.SpreadOverHours(byTeam[team], milli, max(task.Times.Started.Unix(), since.Unix()), task.Times.Stopped.Unix())
		}
	}
	return byTeam
}
