// Package backoff is exponential back-off: the pauses between tries of what may fail for a while. It is the only place that doubles a pause.
package backoff

import (
	"context"
	"time"
)

// Backoff has the pauses of one series of tries: the first is Min, each next one twice the last, up to Max. One goroutine at a time uses it.
type Backoff struct {
	Min, Max time.Duration

	// Sleep waits for d or until ctx ends, and returns the cause of that. Nil: the real clock.
	Sleep func(ctx context.Context, d time.Duration) error

	last time.Duration
}

// Poll has the pauses of a loop that asks until an answer comes: from 10 ms to one second.
func Poll() *Backoff { return &Backoff{Min: 10 * time.Millisecond, Max: time.Second} }

// Next is the pause before the next try.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, b.Min), b.Max)
	return b.last
}

// Reset begins another series: the next pause is Min.
func (b *Backoff) Reset() { b.last = 0 }

// After is the pause after so many tries that failed after the first one, for those who count them and keep no Backoff.
func (b *Backoff) After(failed int) time.Duration {
	pause := b.Min
	for ; failed > 0 && pause < b.Max; failed-- {
		pause *= 2
	}
	return min(pause, b.Max)
}

// Wait pauses before the next try; it returns the cause when ctx ends first.
func (b *Backoff) Wait(ctx context.Context) error {
	if b.Sleep != nil {
		return b.Sleep(ctx, b.Next())
	}
	return Sleep(ctx, b.Next())
}

// Retry calls try until it returns false for again, ctx ends, or it has been repeated as often as tries says, and returns the last error of
// try. Negative tries: there is no limit.
func (b *Backoff) Retry(ctx context.Context, tries int, try func() (again bool, err error)) error {
	for ; ; tries-- {
		again, err := try()
		if !again || tries == 0 {
			return err
		}
		if err := b.Wait(ctx); err != nil {
			return err
		}
	}
}

// Sleep waits for d; it returns the cause when ctx ends first.
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
