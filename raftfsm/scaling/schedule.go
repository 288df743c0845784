package scaling

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"

	"pinion/raftfsm/lazyregexp"
)

// Schedule is the time plan of a scheduled action: at(TIME), rate(N UNIT) or cron(FIELDS), as AWS writes them.
type Schedule struct {
	at   string        // local time
	rate time.Duration // from the start on
	cron string        // seven fields: gronx reads six with a year as some that begin with seconds
}

const atLayout = "2006-01-02T15:04:05"

var units = map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}

// maxRate keeps a rate from overflowing.
const maxRate = 100 * 365 * 24 * time.Hour

// ParseSchedule reads a schedule, or says what is wrong with it.
func ParseSchedule(text string) (Schedule, error) {
	kind, rest, open := strings.Cut(text, "(")
	inner, closed := strings.CutSuffix(rest, ")")
	if !open || !closed {
		return Schedule{}, fmt.Errorf("%q is not at(yyyy-mm-ddThh:mm:ss), rate(VALUE UNIT) or cron(FIELDS)", text)
	}
	switch kind {
	case "at":
		if _, err := time.Parse(atLayout, inner); err != nil {
			return Schedule{}, fmt.Errorf("%q: write at(yyyy-mm-ddThh:mm:ss)", text)
		}
		return Schedule{at: inner}, nil
	case "rate":
		return parseRate(text, inner)
	case "cron":
		return parseCron(text, inner)
	}
	return Schedule{}, fmt.Errorf("%q: %s is not known: there are at, rate and cron", text, kind)
}

func parseRate(text, inner string) (Schedule, error) {
	number, unit, _ := strings.Cut(inner, " ")
	n, err := strconv.Atoi(number)
	one := units[strings.TrimSuffix(unit, "s")]
	if err != nil || n < 1 || one == 0 || time.Duration(n) > maxRate/one {
		return Schedule{}, fmt.Errorf("%q: write rate(VALUE UNIT) with minutes, hours or days", text)
	}
	return Schedule{rate: time.Duration(n) * one}, nil
}

func parseCron(text, inner string) (Schedule, error) {
	fields := strings.Fields(inner)
	if len(fields) != 6 {
		return Schedule{}, fmt.Errorf("%q: cron has six fields: minutes, hours, day of month, month, day of week, year", text)
	}
	if fields[2] != "?" && fields[4] != "?" {
		return Schedule{}, fmt.Errorf("%q: one of day of month and day of week must be ?", text)
	}
	days, ok := weekdays(fields[4])
	fields[4] = days
	s := Schedule{cron: "0 " + strings.Join(fields, " ")}
	if !ok || !gronx.IsValid(s.cron) {
		return Schedule{}, fmt.Errorf("%q: a field of the cron expression has no meaning", text)
	}
	return s, nil
}

var (
	weekday = lazyregexp.New(`[#/]?\d+`)
	// weekdayOfMonth is the only form of a part with #: the fifth Friday is the last that a month can have.
	weekdayOfMonth = lazyregexp.New(`^(?i:SUN|MON|TUE|WED|THU|FRI|SAT|[1-7])#[1-5]$`)
)

// weekdays turns AWS's numbers of days, from 1 for Sunday, into cron's, from 0. Numbers behind # and / are none of a day.
func weekdays(field string) (string, bool) {
	ok := true
	for part := range strings.SplitSeq(field, ",") {
		ok = ok && (!strings.Contains(part, "#") || weekdayOfMonth.MatchString(part))
	}
	return weekday.ReplaceAllStringFunc(field, func(number string) string {
		n, err := strconv.Atoi(number)
		if err != nil {
			return number
		}
		ok = ok && n >= 1 && n <= 7
		return strconv.Itoa(n - 1)
	}), ok
}

// Latest is the last time of an action that is not after now, zero when there is none.
func (a *ScheduledAction) Latest(now time.Time) time.Time {
	schedule, zone, err := a.parse()
	if err != nil {
		return time.Time{} // it was checked
	}
	begin, end := a.span(now)
	latest := schedule.last(begin, end.In(zone))
	if latest.Before(begin) || latest.After(end) {
		return time.Time{}
	}
	return latest
}

// parse reads the schedule and the time zone in which it is.
func (a *ScheduledAction) parse() (Schedule, *time.Location, error) {
	schedule, err := ParseSchedule(a.Schedule)
	if err != nil || schedule.rate > 0 {
		return schedule, time.UTC, err
	}
	zone, err := time.LoadLocation(a.Timezone)
	return schedule, zone, err
}

// span is from when to when, now at the latest, the action can happen.
func (a *ScheduledAction) span(now time.Time) (begin, end time.Time) {
	begin, end = a.CreatedAt, now
	if !a.Start.IsZero() {
		begin = a.Start
	}
	if !a.End.IsZero() && a.End.Before(now) {
		end = a.End
	}
	return begin, end
}

// Due is the last time at which an action should have happened and has not, zero when there is none.
func (a *ScheduledAction) Due(now time.Time) time.Time {
	if latest := a.Latest(now); latest.After(a.Done) {
		return latest
	}
	return time.Time{}
}

// last is the last time until now.
func (s Schedule) last(start, now time.Time) time.Time {
	switch {
	case s.at != "":
		at, _ := time.ParseInLocation(atLayout, s.at, now.Location())
		return at
	case s.rate > 0:
		if now.Before(start) {
			return time.Time{}
		}
		return start.Add(now.Sub(start) / s.rate * s.rate)
	}
	at, err := gronx.PrevTickBefore(s.cron, now, true)
	if err != nil {
		return time.Time{}
	}
	return at
}
