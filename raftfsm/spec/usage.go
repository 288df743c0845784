package spec

import (
	"math"
	"slices"
	"time"
)

// UsageRetention is how far back it is remembered what teams have used: much longer than it counts for.
const UsageRetention = 8 * 24 * time.Hour

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

// Plus is the usage with more GPU-seconds by hour, and without those before the oldest that counts.
func (u *Usage) Plus(more map[int64]int64, oldest int64) *Usage {
	for _, hour := range u.Hours {
		more[hour.Hour] += hour.GPUSeconds
	}
	sum := &Usage{Team: u.Team}
	for hour, seconds := range more {
		if hour >= oldest {
			sum.Hours = append(sum.Hours, UsageHour{Hour: hour, GPUSeconds: seconds})
		}
	}
	slices.SortFunc(sum.Hours, func(a, b UsageHour) int { return int(a.Hour - b.Hour) })
	return sum
}

// minTime and maxTime are the range of moments with distinct numbers: the years 1677 to 2262.
var (
	minTime = time.Unix(0, math.MinInt64)
	maxTime = time.Unix(0, math.MaxInt64)
)

// TimeKey converts a time to a sortable number. The zero time sorts first.
func TimeKey(t time.Time) int64 {
	switch {
	case t.Before(minTime):
		return math.MinInt64
	case t.After(maxTime):
		return math.MaxInt64
	}
	return t.UnixNano()
}
