// Package backoff retries what may fail for a while, with pauses that grow.
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
	for wait := retryMin; ; wait = min(2*wait, retryMax) {
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
		if Sleep(ctx, wait) != nil {
			return ctx.Err()
		}
	}
}

// Sleep waits; it returns ctx's error when ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	pollMin = 10 * time.Millisecond
	pollMax = time.Second
)

// Poll paces a loop that asks until an answer comes: its pauses double from 10 ms to one second. The zero value is ready
// to use.
type Poll struct{ last time.Duration }

// Wait pauses; it returns ctx's error when ctx ends first.
func (p *Poll) Wait(ctx context.Context) error {
	p.last = min(max(2*p.last, pollMin), pollMax)
	return Sleep(ctx, p.last)
}
