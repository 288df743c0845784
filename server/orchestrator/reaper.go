package orchestrator

import (
	"context"
	"log/slog"
	"time"

	"pinion/packaging/backoff"
	"pinion/packaging/tick"
	"pinion/raftfsm"
)

// How long the state remembers what has ended, and how often the reaper looks.
const (
	stoppedRetention        = time.Hour
	clientTokenRetention    = 24 * time.Hour
	inactiveRetention       = 90 * 24 * time.Hour
	reapInterval            = time.Minute
	fullInterval            = time.Second
	clientTokenReapInterval = time.Hour // client tokens are not listed in a view, so they are reaped this often
)

const (
	// maxStopped is how many stopped tasks the state remembers, of some kilobytes each: a service that is scaled up and down makes thousands a second.
	maxStopped = 100_000
	// minRetention is how long a stopped task is there in any case: servers write it into their histories meanwhile.
	minRetention = 30 * time.Second
)

// Reaper keeps the state bounded: it forgets stopped tasks after an hour, sooner when there are very many, client tokens after a day, INACTIVE task
// definitions that no task runs after 90 days, and old usage.
type Reaper struct {
	proposer Proposer
	log      *slog.Logger
	keep     int // stopped tasks at most
}

// NewReaper makes the reaper of one leader term.
func NewReaper(p Proposer, log *slog.Logger) *Reaper { return &Reaper{p, log, maxStopped} }

// Loop reaps until ctx ends. It goes by the time that has passed since the term began: when somebody sets the clock, no record
// is forgotten early.
func (r *Reaper) Loop(ctx context.Context) {
	began := r.proposer.Now()
	checkedAt, reapedAt := began, began
	for backoff.Sleep(ctx, tick.Until(fullInterval)) == nil {
		now, view := began.Add(r.proposer.Now().Sub(began)), r.proposer.State().View()
		if stopped, _ := raftfsm.StoppedTasks(view); stopped <= r.keep && now.Sub(checkedAt) < reapInterval {
			continue
		}
		checkedAt = now
		if now.Sub(reapedAt) < clientTokenReapInterval && !view.HasExpired(r.expired(view, now)) {
			continue
		}
		if err := r.Reap(ctx, now); err != nil {
			r.log.Warn("cannot forget stopped tasks, will try again", "error", err)
			continue
		}
		reapedAt = now
	}
}

// Reap forgets what has expired at now.
func (r *Reaper) Reap(ctx context.Context, now time.Time) error {
	reap := r.expired(r.proposer.State().View(), now)
	reap.TokensBefore = now.Add(-clientTokenRetention)
	tasks, err := r.proposer.Propose(ctx, reap)
	if err == nil {
		r.log.Debug("forgot stopped tasks", "tasks", tasks)
	}
	return err
}

// expired is what a view shows to have expired at now.
func (r *Reaper) expired(v *raftfsm.View, now time.Time) raftfsm.Reap {
	before := now.Add(-stoppedRetention)
	if full := r.fullBefore(v); full.After(before) {
		before = full
	}
	if latest := now.Add(-minRetention); before.After(latest) {
		before = latest
	}
	return raftfsm.Reap{Before: before, InactiveBefore: now.Add(-inactiveRetention)}
}

// fullBefore is the moment before which all stopped tasks of a view have ended but the last of them; zero while there are not too many.
func (r *Reaper) fullBefore(v *raftfsm.View) time.Time {
	stopped, first := raftfsm.StoppedTasks(v)
	more := stopped - r.keep
	if more <= 0 {
		return time.Time{}
	}
	for t := range first {
		if more--; more == 0 {
			return t.Times.Stopped.Add(1) // those of the same moment too
		}
	}
	return time.Time{}
}
