package scaling

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What is remembered is what would be computed, at any moment and for any action.
func TestTicksTellWhatTheSchedulesTell(t *testing.T) {
	schedules := []string{"cron(0 22 * * ? *)", "cron(*/5 * * * ? *)", "cron(30 2 * * ? *)", "cron(0 9 ? * 6#5 *)", "cron(0 0 30 2 ? *)", "rate(7 minutes)", "at(2026-03-29T03:10:00)"}
	rapid.Check(t, func(t *rapid.T) {
		begin := time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC) // clocks change in Berlin
		ticks, now := NewTicks(), begin
		a := &ScheduledAction{CreatedAt: begin.Add(-48 * time.Hour)}
		a.Schedule = rapid.SampledFrom(schedules).Draw(t, "schedule")
		a.Timezone = rapid.SampledFrom([]string{"", "Europe/Berlin", "America/St_Johns"}).Draw(t, "zone")
		if rapid.Bool().Draw(t, "ends") {
			a.End = begin.Add(5 * time.Hour)
		}
		for range 20 {
			ticks.Begin()
			now = now.Add(time.Duration(rapid.IntRange(-300, 3000).Draw(t, "seconds")) * time.Second)
			got, ok := ticks.Due(a, now)
			if want := a.Due(now); !ok || !got.Equal(want) {
				t.Fatalf("%s in %q at %s: %s %v, want %s", a.Schedule, a.Timezone, now, got, ok, want)
			}
			if !got.IsZero() && rapid.Bool().Draw(t, "done") {
				a.Done = got
			}
		}
	})
}

// A round evaluates so many expressions, and remembers them for the next one.
func TestARoundEvaluatesABoundedNumberOfSchedules(t *testing.T) {
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	ticks, open := NewTicks(), 0
	for round := range 2 {
		ticks.Begin()
		open = 0
		for i := range 2 * maxEvaluations {
			a := &ScheduledAction{CreatedAt: now, Schedule: fmt.Sprintf("cron(%d %d %d * ? *)", i%60, i/60%24, 1+i/1440)}
			if _, ok := ticks.Due(a, now); !ok {
				open++
			}
		}
		if want := (1 - round) * maxEvaluations; open != want {
			t.Errorf("round %d leaves %d open, want %d", round, open, want)
		}
	}
}
