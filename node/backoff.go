package node

import (
	"context"
	"log/slog"
	"time"
)

const (
	backoffMin = 100 * time.Millisecond
	// backoffMax keeps a host that comes back within seconds of its cluster's return.
	backoffMax = 2 * time.Second
)

// retry calls f until it answers nil, for ever, with growing pauses. The first failure is logged, and the end of the
// trouble. It gives up only when ctx ends and then answers ctx's error.
func retry(ctx context.Context, log *slog.Logger, what string, f func(context.Context) error) error {
	failed := false
	for wait := backoffMin; ; wait = min(2*wait, backoffMax) {
		err := f(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			if failed {
				log.Info(what + ": works again")
			}
			return nil
		}
		if !failed {
			log.Warn(what+": failed, trying on", "err", err)
			failed = true
		}
		if sleep(ctx, wait) != nil {
			return ctx.Err()
		}
	}
}

// sleep waits; it answers ctx's error when ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
