package sortkey

import (
	"math"
	"time"
)

// minTime and maxTime are the range of moments with distinct numbers: the years 1677 to 2262.
var (
	minTime = time.Unix(0, math.MinInt64)
	maxTime = time.Unix(0, math.MaxInt64)
)

// Time converts a time to a sortable number. The zero time sorts first.
func Time(t time.Time) int64 {
	switch {
	case t.Before(minTime):
		return math.MinInt64
	case t.After(maxTime):
		return math.MaxInt64
	}
	return t.UnixNano()
}
