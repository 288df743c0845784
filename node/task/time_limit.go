package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pinion/node/machine"
	"pinion/raftfsm/spec"
)

// limitCheckInterval bounds the time between two looks at a task's time limit: a timer does not go on while the machine sleeps.
const limitCheckInterval = time.Minute

// timeLimit ends a task that has run for as long as it may. The host alone counts, from the moment that the task ran, by the
// time since its boot: neither its own wall clock nor a server's can end a task early. What was counted is kept in the task's
// directory over a restart of the agent; containers do not outlive a boot.
type timeLimit struct {
	clock machine.BootClock

	mu      sync.Mutex
	limit   time.Duration // 0: none
	running bool          // the task has started
	since   time.Duration // since then, by the clock
	changed chan struct{} // closed and replaced when the limit has changed
}

func newTimeLimit(clock machine.BootClock, limit time.Duration) *timeLimit {
	return &timeLimit{clock: clock, limit: limit, changed: make(chan struct{})}
}

// set replaces the limit.
func (l *timeLimit) set(limit time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit != l.limit {
		l.limit = limit
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// start begins to count, or goes on counting where an earlier process of the agent began, as the file says. When the file
// cannot be read the time counts from now: a task runs too long rather than too short.
func (l *timeLimit) start(dir taskDir) error {
	file := filepath.Join(dir.path, "started")
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return nil
	}
	l.running, l.since = true, l.clock.Since()
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return os.WriteFile(file, fmt.Appendf(nil, "%s %d\n", l.clock.ID, l.since), 0o600)
	}
	var boot string
	var since time.Duration
	if _, bad := fmt.Sscan(string(raw), &boot, &since); err == nil && bad == nil && boot == l.clock.ID && since <= l.since {
		l.since = since
	}
	return err
}

// left is for how long the task may run on, limit is what it may in all, and changed is closed when that is another.
func (l *timeLimit) left() (left, limit time.Duration, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.running {
		return l.limit, 0, l.changed
	}
	return l.since + l.limit - l.clock.Since(), l.limit, l.changed
}

// wait waits until the task may have to stop: when something stops it, or the limit changes, and with a limit for limitCheckInterval at most.
func (l *timeLimit) wait(ctx context.Context, stopping <-chan struct{}) {
	left, limit, changed := l.left()
	var due <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(min(left, limitCheckInterval))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-stopping:
	case <-ctx.Done():
	case <-changed:
	case <-due:
	}
}

// waitStop is the step of a running task: it waits for a reason to stop, which may be its time limit.
func (r *Runner) waitStop(ctx context.Context) {
	for !r.isStopping() && ctx.Err() == nil {
		if left, limit, _ := r.timeLimit.left(); limit > 0 && left <= 0 {
			r.beginStop(spec.StopScheduler, spec.TimeLimitReason(limit))
			return
		}
		r.timeLimit.wait(ctx, r.stopping)
	}
}
