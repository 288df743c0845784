package orchestrator

import (
	"context"
	"log/slog"
	"time"

	"pinion/raftfsm"
)

// How long the state remembers what has ended, and how often the reaper looks.
const (
	stoppedRetention  = time.Hour
	tokenRetention    = 24 * time.Hour
	inactiveRetention = 90 * 24 * time.Hour
	reapInterval      = time.Minute
	tokenReapInterval = time.Hour // client tokens are not listed in a view, so they are reaped this often
)

// Reaper keeps the state bounded: it forgets stopped tasks after an hour, client tokens after a day, INACTIVE task
// definitions that no task runs after 90 days, and old usage.
type Reaper struct {
	proposer Proposer
	log      *slog.Logger
}

// NewReaper makes the reaper of one leader term.
func NewReaper(p Proposer, log *slog.Logger) *Reaper { return &Reaper{p, log} }

// Loop reaps until ctx ends. It goes by the time that has passed since the term began: when somebody sets the clock, no record
// is forgotten early.
func (r *Reaper) Loop(ctx context.Context) {
	began := r.proposer.Now()
	reapedAt := began
	for sleep(ctx, reapInterval) {
		now := began.Add(r.proposer.Now().Sub(began))
		if now.Sub(reapedAt) < tokenReapInterval && !r.proposer.State().View().HasExpired(expired(now)) {
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
	reap := expired(now)
	reap.TokensBefore = now.Add(-tokenRetention)
	tasks, err := r.proposer.Propose(ctx, reap)
	if err == nil {
		r.log.Debug("forgot stopped tasks", "tasks", tasks)
	}
	return err
}

// expired is what a view shows to have expired at now.
func expired(now time.Time) raftfsm.Reap {
	return raftfsm.Reap{Before: now.Add(-stoppedRetention), InactiveBefore: now.Add(-inactiveRetention)}
}
