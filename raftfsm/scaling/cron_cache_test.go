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
		ticks, now := NewCronCache(time.Now), begin
		a := &ScheduledAction{CreatedAt: begin.Add(-48 * time.Hour)}
		a.Schedule = rapid.SampledFrom(schedules).Draw(t, "schedule")
		a.Timezone = rapid.SampledFrom([]string{"", "Europe/Berlin", "America/St_Johns"}).Draw(t, "zone")
		if rapid.Bool().Draw(t, "ends") {
			a.End = begin.Add(5 * time.Hour)
		}
		for range 20 {
			ticks.StartPass()
			ticks.StartTarget()
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

// A turn and a pass spend a bounded time on expressions, whatever one of them takes, and remember them for the next one.
func TestAPassSpendsABoundedTimeOnSchedules(t *testing.T) {
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	clock := time.Time{}
	ticks := NewCronCache(func() time.Time {
		clock = clock.Add(time.Millisecond) // each expression takes so long
		return clock
	})
	action := func(i int) *ScheduledAction {
		return &ScheduledAction{CreatedAt: now, Schedule: fmt.Sprintf("cron(%d %d %d * ? *)", i%60, i/60%24, 1+i/1440)}
	}
	const targets, actions = 20, 30
	for pass, want := range []struct{ turns, known int }{{10, 10 * 20}, {15, 10*30 + 5*20}, {20, 15*30 + 5*20}} { // of 20 ms each, 10 ms for what is left of one
		ticks.StartPass()
		turns, known := 0, 0
		for target := range targets {
			if !ticks.StartTarget() {
				break
			}
			turns++
			for i := range actions {
				if _, ok := ticks.Due(action(target*actions+i), now); ok {
					known++
				}
			}
		}
		if turns != want.turns || known != want.known {
			t.Errorf("pass %d: %d turns, %d known, want %+v", pass, turns, known, want)
		}
	}
}
