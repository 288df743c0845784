package format

import (
	"testing"
	"time"
)

func TestATimeLimitIsReadAsSlurmWritesItToo(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90":         90 * time.Minute,
		"1:30":       time.Minute + 30*time.Second,
		"00:00:03":   3 * time.Second,
		"12:00:00":   12 * time.Hour,
		"2-0":        2 * day,
		"1-12":       day + 12*time.Hour,
		"1-12:30":    day + 12*time.Hour + 30*time.Minute,
		"7-00:00:01": 7*day + time.Second,
		"30m":        30 * time.Minute,
		"1d12h":      day + 12*time.Hour,
	} {
		if got, err := ParseTimeLimit(text); err != nil || got != want {
			t.Errorf("%q is %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "1-", "-1", ":30", "1:2:3:4", "1-2-3", "36501-0", "9999999:00:00", "99999999"} {
		if got, err := ParseTimeLimit(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}
