package scaling

import (
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

const (
	// maxTicks bounds the cron expressions whose times are remembered.
	maxTicks = 50_000
	// maxEvaluations bounds the cron expressions that are evaluated in one round: each takes some 30 µs, and one that never comes 2 ms.
	maxEvaluations = 500
	// maxSpan is how long a time is remembered at most: clocks are changed on some days.
	maxSpan = time.Hour
)

// Ticks tells when scheduled actions are due. It remembers the last time of each cron expression until its next one, because there may be many and to evaluate
// one takes up to some milliseconds. It is not safe for concurrent use.
type Ticks struct {
	known     map[tickKey]tick
	evaluated int // in this round
}

// tickKey is all that the last time of an expression depends on, beside the moment: the end is that of an action that is over.
type tickKey struct {
	schedule, zone string
	end            time.Time
}

// tick is the last time of an expression for the moments of a span.
type tick struct{ last, from, until time.Time }

// NewTicks remembers nothing.
func NewTicks() *Ticks { return &Ticks{known: map[tickKey]tick{}} }

// Begin begins a round, in which 500 expressions are evaluated at most.
func (k *Ticks) Begin() { k.evaluated = 0 }

// Due is the last time at which an action should have happened and has not, zero when there is none. False: this round has no room to find out.
func (k *Ticks) Due(a *ScheduledAction, now time.Time) (due time.Time, ok bool) {
	if strings.HasPrefix(a.Schedule, "rate(") {
		return a.Due(now), true // is computed at once, from its own beginning
	}
	begin, end := a.span(now)
	key := tickKey{schedule: a.Schedule, zone: a.Timezone}
	if end.Before(now) {
		key.end = end
	}
	at, known := k.known[key]
	if !known || now.Before(at.from) || !now.Before(at.until) {
		if k.evaluated++; k.evaluated > maxEvaluations {
			return time.Time{}, false
		}
		at = a.tick(begin, end, now)
		k.remember(key, at)
	}
	if at.last.Before(begin) || at.last.After(end) || !at.last.After(a.Done) {
		return time.Time{}, true
	}
	return at.last, true
}

func (k *Ticks) remember(key tickKey, at tick) {
	if len(k.known) >= maxTicks {
		for other := range k.known { // whichever
			delete(k.known, other)
			break
		}
	}
	k.known[key] = at
}

// tick evaluates the schedule: its last time until end, and for which moments that is the last one.
func (a *ScheduledAction) tick(begin, end, now time.Time) tick {
	at := tick{from: now, until: now.Add(maxSpan)}
	schedule, zone, err := a.parse()
	if err != nil {
		return at // it was checked
	}
	at.last = schedule.last(begin, end.In(zone))
	if schedule.cron == "" || at.last.IsZero() || end.Before(now) {
		return at
	}
	if next, err := gronx.NextTickAfter(schedule.cron, now.In(zone), false); err == nil && next.Before(at.until) {
		at.until = next
	}
	return at
}
