package invocation

import (
	"errors"
	"slices"
	"strings"
	"time"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/raftfsm/lazyregexp"
)

// hostTime is how hosts write a time in a text.
var hostTime = lazyregexp.New(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// LocalTimes is a text of a host with its times in the zone that the user has asked for.
func (inv *Invocation) LocalTimes(text string) string {
	return hostTime.ReplaceAllStringFunc(text, func(written string) string {
		at, err := time.Parse(time.RFC3339, written)
		if err != nil {
			return written
		}
		return inv.Time(at)
	})
}

// ParseSince reads the value of --since, as ParseTime does.
func ParseSince(text string, now time.Time) (time.Time, error) {
	at, err := ParseTime(text, now)
	if err != nil {
		return at, exit.Usagef("--since %q: %w", text, err)
	}
	return at, nil
}

// ParseTime reads a moment as people write it: an age ("10m", "7d", "10m ago"), today, yesterday, the last time that it was "14:40", a date, or a
// date with a time, which is local unless it says its zone. The empty text is no moment.
func ParseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	year, month, day := now.Local().Date()
	if ago := slices.Index([]string{"today", "yesterday"}, strings.ToLower(text)); ago >= 0 {
		return time.Date(year, month, day-ago, 0, 0, 0, 0, time.Local), nil
	}
	if age, err := format.ParseSpan(strings.TrimSpace(strings.TrimSuffix(text, " ago"))); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		clock, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		at := time.Date(year, month, day, clock.Hour(), clock.Minute(), clock.Second(), 0, time.Local)
		if at.After(now) {
			at = at.AddDate(0, 0, -1)
		}
		return at, nil
	}
	return time.Time{}, errors.New("write an age such as 10m, 36h or 7d, today, yesterday, a time such as 14:40, or a date such as 2026-01-31 or 2026-01-31T14:40:00Z")
}
