package invocation

import (
	"testing"
	"time"
)

func TestTimesAreLocalUnlessUTCIsAskedFor(t *testing.T) {
	defer func(zone *time.Location) { time.Local = zone }(time.Local)
	time.Local = time.FixedZone("CEST", 2*60*60)
	at := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	if local, utc, none := ShowTime(at, false), ShowTime(at, true), ShowTime(time.Time{}, true); local != "2025-06-01 14:00:00" || utc != "2025-06-01 12:00:00Z" || none != "-" {
		t.Errorf("%q, %q, %q", local, utc, none)
	}
}
