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
	reapInterval      = time.Minute
	tokenReapInterval = time.Hour // client tokens are not listed in a view, so they are reaped this often
)

// Reaper keeps the state bounded: it forgets stopped tasks after an hour, client tokens after a day, and old usage.
type Reaper struct {
	proposer Proposer
	log      *slog.Logger
}

// NewReaper makes the reaper of one leader term.
func NewReaper(p Proposer, log *slog.Logger) *Reaper { return &Reaper{p, log} }

// Loop reaps until ctx ends.
func (r *Reaper) Loop(ctx context.Context) {
	reapedAt := r.proposer.Now()
	for sleep(ctx, reapInterval) {
		now := r.proposer.Now()
		if now.Sub(reapedAt) < tokenReapInterval && !r.proposer.State().View().HasExpired(raftfsm.Reap{Before: now.Add(-stoppedRetention)}) {
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
	reap := raftfsm.Reap{Before: now.Add(-stoppedRetention), TokensBefore: now.Add(-tokenRetention)}
	tasks, err := r.proposer.Propose(ctx, reap)
	if err == nil {
		r.log.Debug("forgot stopped tasks", "tasks", tasks)
	}
	return err
}
