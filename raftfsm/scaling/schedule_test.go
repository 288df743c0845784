package scaling

import (
	"testing"
	"time"
)

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestTheLatestTimeOfAScheduledAction(t *testing.T) {
	for name, c := range map[string]struct {
		schedule, zone, start, end, now, want string
	}{
		"every night":                         {schedule: "cron(0 22 * * ? *)", now: "2026-03-05T21:59:59Z", want: "2026-03-04T22:00:00Z"},
		"to the minute":                       {schedule: "cron(0 22 * * ? *)", now: "2026-03-05T22:00:00Z", want: "2026-03-05T22:00:00Z"},
		"in a time zone":                      {schedule: "cron(0 22 * * ? *)", zone: "Europe/Berlin", now: "2026-07-05T20:00:00Z", want: "2026-07-05T20:00:00Z"},
		"days count from Sunday":              {schedule: "cron(0 9 ? * 2-6 *)", now: "2026-03-29T12:00:00Z", want: "2026-03-27T09:00:00Z"},
		"days by name":                        {schedule: "cron(0 9 ? * MON-FRI *)", now: "2026-03-29T12:00:00Z", want: "2026-03-27T09:00:00Z"},
		"the third Friday":                    {schedule: "cron(0 9 ? * 6#3 *)", now: "2026-03-29T12:00:00Z", want: "2026-03-20T09:00:00Z"},
		"the last Friday":                     {schedule: "cron(0 9 ? * 6L *)", now: "2026-03-29T12:00:00Z", want: "2026-03-27T09:00:00Z"},
		"the last day of the month":           {schedule: "cron(0 9 L * ? *)", now: "2026-03-29T12:00:00Z", want: "2026-02-28T09:00:00Z"},
		"the working day next to the 15th":    {schedule: "cron(0 9 15W * ? *)", now: "2026-03-29T12:00:00Z", want: "2026-03-16T09:00:00Z"},
		"the sixth field is a year":           {schedule: "cron(0 9 1 1 ? 2026)", now: "2026-03-29T12:00:00Z", want: "2026-01-01T09:00:00Z"},
		"a year to come":                      {schedule: "cron(0 9 1 1 ? 2030)", now: "2026-03-29T12:00:00Z"},
		"a day that never comes":              {schedule: "cron(0 9 30 2 ? *)", now: "2026-03-29T12:00:00Z"},
		"a rate from its start":               {schedule: "rate(90 minutes)", start: "2026-03-01T00:00:00Z", now: "2026-03-01T04:00:00Z", want: "2026-03-01T03:00:00Z"},
		"a rate before its start":             {schedule: "rate(1 hour)", start: "2026-03-01T05:00:00Z", now: "2026-03-01T04:00:00Z"},
		"a rate behind its end":               {schedule: "rate(1 day)", start: "2026-03-01T00:00:00Z", end: "2026-03-03T12:00:00Z", now: "2026-03-09T00:00:00Z", want: "2026-03-03T00:00:00Z"},
		"once":                                {schedule: "at(2026-03-02T08:00:00)", zone: "America/New_York", now: "2026-03-02T13:00:00Z", want: "2026-03-02T13:00:00Z"},
		"once, not yet":                       {schedule: "at(2026-03-02T08:00:00)", now: "2026-03-02T07:59:59Z"},
		"once, before its start":              {schedule: "at(2026-03-02T08:00:00)", start: "2026-03-03T00:00:00Z", now: "2026-03-04T07:59:59Z"},
		"an hour that summer time leaves out": {schedule: "cron(30 2 * * ? *)", zone: "Europe/Berlin", now: "2026-03-29T10:00:00Z", want: "2026-03-28T01:30:00Z"},
	} {
		a := ScheduledAction{Schedule: c.schedule, Timezone: c.zone, CreatedAt: moment(t, "2020-01-01T00:00:00Z")}
		if c.start != "" {
			a.Start = moment(t, c.start)
		}
		if c.end != "" {
			a.End = moment(t, c.end)
		}
		got := a.Latest(moment(t, c.now))
		if want := c.want; want == "" && !got.IsZero() || want != "" && !got.Equal(moment(t, want)) {
			t.Errorf("%s: %v, want %q", name, got, want)
		}
	}
}

func TestAScheduledActionIsDueOnce(t *testing.T) {
	put := moment(t, "2026-03-05T21:00:00Z")
	a := ScheduledAction{Schedule: "cron(0 22 * * ? *)", CreatedAt: put, Done: put}
	if due := a.Due(put.Add(time.Minute)); !due.IsZero() {
		t.Errorf("what was before it was put is due: %v", due)
	}
	now := put.Add(time.Hour)
	if due := a.Due(now); !due.Equal(now) {
		t.Errorf("%v", due)
	}
	if a.Done = now; !a.Due(now.Add(time.Minute)).IsZero() {
		t.Error("it is due again")
	}
}

func TestWhatIsNoSchedule(t *testing.T) {
	for _, text := range []string{"", "daily", "cron()", "cron(0 22 * * *)", "cron(0 22 * * * *)", "cron(0 22 ? * 0 *)", "cron(0 22 ? * 8 *)", "cron(0 22 ? * 6#6 *)", "cron(0 22 ? * 6#0 *)", "cron(0 22 ? * 6#11 *)", "cron(0 9 ? * FRI#SAT *)", "cron(0 9 ? * FRI#DEC *)", "cron(0 9 ? * 6#+7 *)", "cron(0 9 ? * 6#-1 *)", "cron(0 9 ? * 2,6#6 *)", "cron(99 22 * * ? *)", "cron(0 22 * * ? *",
		"rate(0 minutes)", "rate(5)", "rate(5 weeks)", "rate(99999999999 days)", "at(tomorrow)", "at(2026-13-01T00:00:00)", "every(5 minutes)"} {
		if _, err := ParseSchedule(text); err == nil {
			t.Errorf("%q is one", text)
		}
	}
}
