package client

import (
	"context"
	"errors"
	"time"
)

// Backoff is a schedule of pauses between tries: the first is Min, each next one twice the last, up to Max.
type Backoff struct {
	Min, Max time.Duration
	Tries    int // tries after the first; negative: no limit

	// Sleep waits for d or until ctx ends, and returns the cause of that. Nil: the real clock.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Retry calls try until it returns false for again, ctx ends or no tries are left, and returns the last error of try.
func (b Backoff) Retry(ctx context.Context, try func() (again bool, err error)) error {
	for pause, left := b.Min, b.Tries; ; pause, left = min(pause*2, b.Max), left-1 {
		again, err := try()
		if !again || left == 0 {
			return err
		}
		if err := b.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (b Backoff) sleep(ctx context.Context, d time.Duration) error {
	if b.Sleep != nil {
		return b.Sleep(ctx, d)
	}
	return Sleep(ctx, d)
}

// Sleep waits for d, and returns early with the cause when ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// IsUnavailable reports whether an error may pass by itself: no host answers, it cannot serve the request for the
// moment, or a stream was interrupted. The same request may succeed later, also at another host.
func IsUnavailable(err error) bool {
	var refused *APIError
	if errors.As(err, &refused) {
		return refused.Status >= 500
	}
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrLogInterrupted) || errors.Is(err, ErrEventsInterrupted)
}
