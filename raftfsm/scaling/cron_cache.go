package scaling

import (
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

const (
	// maxCached bounds the cron expressions whose times are remembered.
	maxCached = 50_000
	// maxPass and maxTargetTime bound the time that is spent on cron expressions in one pass, and on those of one target: most take some 30 µs, and one that
	// never comes a hundred milliseconds and more. The last one of each may go beyond.
	maxPass       = 200 * time.Millisecond
	maxTargetTime = 20 * time.Millisecond
	// maxSpan bounds the time for which a time is remembered: clocks are changed on some days.
	maxSpan = time.Hour
)

// CronCache tells when scheduled actions are due. It remembers the last time of each cron expression until its next one, because there may be many and to evaluate
// one may take long. It is not safe for concurrent use.
type CronCache struct {
	known      map[firingKey]firing
	clock      func() time.Time
	pass, turn time.Duration // spent in this one
}

// firingKey is all that the last time of an expression depends on, beside the moment: the end is that of an action that is over.
type firingKey struct {
	schedule, zone string
	end            time.Time
}

// firing is the last time of an expression for the moments of a span.
type firing struct{ last, from, until time.Time }

// NewCronCache remembers nothing. The clock measures what evaluations take.
func NewCronCache(clock func() time.Time) *CronCache {
	return &CronCache{known: map[firingKey]firing{}, clock: clock}
}

// StartPass begins a pass, which spends 200 ms on evaluations.
func (k *CronCache) StartPass() { k.pass = 0 }

// StartTarget begins the turn of another target, which has 20 ms of the pass. False: the pass is over.
func (k *CronCache) StartTarget() bool {
	k.turn = 0
	return k.pass < maxPass
}

// Due is the last time at which an action should have happened and has not, zero when there is none. False: this turn has no time to find out.
func (k *CronCache) Due(a *ScheduledAction, now time.Time) (due time.Time, ok bool) {
	if strings.HasPrefix(a.Schedule, "rate(") {
		return a.Due(now), true // is computed at once, from its own beginning
	}
	begin, end := a.span(now)
	key := firingKey{schedule: a.Schedule, zone: a.Timezone}
	if end.Before(now) {
		key.end = end
	}
	at, known := k.known[key]
	if !known || now.Before(at.from) || !now.Before(at.until) {
		if k.turn >= maxTargetTime {
			return time.Time{}, false
		}
		began := k.clock()
		at = a.firing(begin, end, now)
		k.remember(key, at)
		took := k.clock().Sub(began)
		k.turn, k.pass = k.turn+took, k.pass+took
	}
	if at.last.Before(begin) || at.last.After(end) || !at.last.After(a.Done) {
		return time.Time{}, true
	}
	return at.last, true
}

func (k *CronCache) remember(key firingKey, at firing) {
	if len(k.known) >= maxCached {
		for other := range k.known { // whichever
			delete(k.known, other)
			break
		}
	}
	k.known[key] = at
}

// firing evaluates the schedule: its last time until end, and for which moments that is the last one.
func (a *ScheduledAction) firing(begin, end, now time.Time) firing {
	at := firing{from: now, until: now.Add(maxSpan)}
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
