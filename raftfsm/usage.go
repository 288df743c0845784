package raftfsm

import (
	"slices"
	"time"
)

// UsageSpan is how far back it is remembered what teams have used: much longer than it counts for.
const UsageSpan = 8 * 24 * time.Hour

// Usage is the GPU time of a team's tasks that are forgotten by now. What the state still has of tasks is not in it.
type Usage struct {
	Team  string      `json:"team"`
	Hours []UsageHour `json:"hours"` // the oldest first, those within UsageSpan; hours without any are left out
}

// UsageHour is the GPU time of one hour.
type UsageHour struct {
	Hour       int64 `json:"hour"` // since 1970
	GPUSeconds int64 `json:"gpuSeconds"`
}

// Start is when the hour begins.
func (h UsageHour) Start() time.Time { return time.Unix(h.Hour*3600, 0) }

// Usages lists what is remembered by team.
func (v *View) Usages() []*Usage { return slices.Collect(usageByTeam.all(v)) }

// account adds the GPU time of tasks that are about to be forgotten, and drops what is too old.
func (tx *tx) account(forgotten []*Task, before time.Time) {
	since := before.Add(-UsageSpan)
	had := map[string]map[int64]int64{}
	for _, task := range forgotten {
		if gpus := int64(len(task.GPUs())); gpus > 0 && !task.Times.Started.IsZero() {
			team := task.Terms().Team
			if had[team] == nil {
				had[team] = map[int64]int64{}
			}
			spread(had[team], gpus, max(task.Times.Started.Unix(), since.Unix()), task.Times.Stopped.Unix())
		}
	}
	for team, hours := range had {
		tx.put(tableUsage, tx.usage(team).with(hours, since.Unix()/3600))
	}
	for usage := range usageByTeam.all(&tx.View) {
		if n := len(usage.Hours); n == 0 || usage.Hours[n-1].Hour < since.Unix()/3600 {
			tx.remove(tableUsage, usage)
		}
	}
}

// spread divides a span of time among its hours.
func spread(hours map[int64]int64, gpus, from, to int64) {
	for from < to {
		hour := from / 3600
		next := min(to, (hour+1)*3600)
		hours[hour] += gpus * (next - from)
		from = next
	}
}

func (v *View) usage(team string) *Usage {
	if known := usageByTeam.get(v, key{first: team}); known != nil {
		return known
	}
	return &Usage{Team: team}
}

// with is the usage with more hours, and without those before the oldest that counts.
func (u *Usage) with(more map[int64]int64, oldest int64) *Usage {
	for _, hour := range u.Hours {
		more[hour.Hour] += hour.GPUSeconds
	}
	sum := &Usage{Team: u.Team}
	for hour, seconds := range more {
		if hour >= oldest {
			sum.Hours = append(sum.Hours, UsageHour{hour, seconds})
		}
	}
	slices.SortFunc(sum.Hours, func(a, b UsageHour) int { return int(a.Hour - b.Hour) })
	return sum
}
