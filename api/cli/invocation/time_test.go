package invocation

import (
	"testing"
	"time"
)

func TestMomentsAreReadAsPeopleWriteThem(t *testing.T) {
	defer func(zone *time.Location) { time.Local = zone }(time.Local)
	time.Local = time.FixedZone("CEST", 2*60*60)
	now := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"10m": "2025-06-01 13:50:00", "10m ago": "2025-06-01 13:50:00", "1d": "2025-05-31 14:00:00", "1d12h": "2025-05-31 02:00:00", "0.5d": "2025-06-01 02:00:00",
		"today": "2025-06-01 00:00:00", "Yesterday": "2025-05-31 00:00:00", "13:40": "2025-06-01 13:40:00", "14:40": "2025-05-31 14:40:00",
		"2025-06-01": "2025-06-01 00:00:00", "2025-06-01 12:30": "2025-06-01 12:30:00", "2025-06-01T12:30:01": "2025-06-01 12:30:01", "2025-06-01T12:30:01Z": "2025-06-01 14:30:01",
		"": "-", "soon": "", "10": "", "-1h": "", "d": "", "25:00": "", "NaNd": "",
	} {
		at, err := ParseTime(text, now)
		if got := ShowTime(at, false); got != want && want != "" || (err != nil) != (want == "") {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestTimesAreLocalUnlessUTCIsAskedFor(t *testing.T) {
	defer func(zone *time.Location) { time.Local = zone }(time.Local)
	time.Local = time.FixedZone("CEST", 2*60*60)
	at := time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	if local, utc, none := ShowTime(at, false), ShowTime(at, true), ShowTime(time.Time{}, true); local != "2025-06-01 14:00:00" || utc != "2025-06-01 12:00:00Z" || none != "-" {
		t.Errorf("%q, %q, %q", local, utc, none)
	}
}
