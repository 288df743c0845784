// Package tick has the loops of a process look after their work at the same moments, at most five a second when their intervals are
// multiples of 200 ms: an idle process wakes up seven threads or so for each moment, however little there is to do. Every process has
// moments of its own, so hosts do not all speak at once.
package tick

import (
	"math/rand/v2"
	"sync"
	"time"
)

// phase is the offset of this process's moments from the clock's.
var phase = rand.N(time.Second)

// Ticker is a time.Ticker with the moments of the process: those of an interval are among those of every interval that divides it. Its first interval is
// shorter than the others, and one in which the clock is set is half to one and a half times as long.
type Ticker struct {
	C <-chan time.Time // gets the moments; one that nobody has taken yet is enough

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// New returns a ticker that runs until Stop. The interval has to be positive.
func New(interval time.Duration) *Ticker {
	moments := make(chan time.Time, 1)
	t := &Ticker{C: moments}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(Next(interval), func() {
		select {
		case moments <- time.Now():
		default:
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.stopped {
			t.timer.Reset(Until(interval))
		}
	})
	return t
}

// Stop ends the ticker. It does not close C.
func (t *Ticker) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.timer.Stop()
}

// Until is the time until the process's next moment for an interval: half to one and a half times as long, so that a timer that was
// early does not fire again at once.
func Until(interval time.Duration) time.Duration { return until(time.Now(), interval) }

func until(now time.Time, interval time.Duration) time.Duration {
	wait := next(now, interval)
	if wait < interval/2 {
		wait += interval
	}
	return wait
}

// Next is the time until the process's next moment for an interval, however near it is.
func Next(interval time.Duration) time.Duration { return next(time.Now(), interval) }

func next(now time.Time, interval time.Duration) time.Duration {
	now = now.Round(0).Add(-phase)
	return now.Truncate(interval).Add(interval).Sub(now)
}
