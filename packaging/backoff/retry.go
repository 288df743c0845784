package backoff

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

const (
	retryMin = 100 * time.Millisecond
	// retryMax keeps a host that comes back within seconds of its pool's return.
	retryMax = 2 * time.Second
)

// Retry calls f until it returns nil, for ever, with pauses of 0.1 to 2 seconds. It logs the first failure and the
// recovery. It gives up only when ctx ends and then returns ctx's error.
func Retry(ctx context.Context, log *slog.Logger, what string, f func(context.Context) error) error {
	return RetryUnless(ctx, log, what, nil, f)
}

// RetryUnless is Retry that also ends with an error that wraps final, and returns it.
func RetryUnless(ctx context.Context, log *slog.Logger, what string, final error, f func(context.Context) error) error {
	failed := false
	for delays := (Backoff{Min: retryMin, Max: retryMax}); ; {
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
		if final != nil && errors.Is(err, final) {
			return err
		}
		if !failed {
			log.Warn(what+": failed, trying on", "error", err)
			failed = true
		}
		if delays.Wait(ctx) != nil {
			return ctx.Err()
		}
	}
}
