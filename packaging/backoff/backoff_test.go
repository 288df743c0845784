package backoff_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/packaging/backoff"
)

func TestRetryGoesOnUntilItWorksAndLogsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		begin, calls := time.Now(), 0
		err := backoff.Retry(t.Context(), log, "dial", func(context.Context) error {
			if calls++; calls < 8 {
				return errors.New("refused")
			}
			return nil
		})
		if err != nil || calls != 8 {
			t.Errorf("Retry returned %v after %d calls, want nil after 8", err, calls)
		}
		// 0.1 + 0.2 + 0.4 + 0.8 + 1.6 + 2 + 2
		if took := time.Since(begin); took != 7100*time.Millisecond {
			t.Errorf("it took %v, want 7.1s", took)
		}
		if lines := strings.Count(text.String(), "\n"); lines != 2 {
			t.Errorf("it logged %d lines, want 2:\n%s", lines, &text)
		}
	})
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := backoff.Retry(ctx, slog.New(slog.DiscardHandler), "dial", func(context.Context) error { return errors.New("refused") })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Retry returned %v, want the deadline's error", err)
		}
	})
}

func TestPollDoublesItsPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		poll := backoff.Poll()
		for range 9 {
			if err := poll.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		// 10 + 20 + 40 + 80 + 160 + 320 + 640 + 1000 + 1000
		if took := time.Since(begin); took != 3270*time.Millisecond {
			t.Errorf("nine pauses took %v, want 3.27s", took)
		}
	})
}

// clock is a Sleep that takes no time and remembers the pauses.
type clock []time.Duration

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	*c = append(*c, d)
	return context.Cause(ctx)
}

func TestTriesAreRepeatedAsOftenAsSaid(t *testing.T) {
	var pauses clock
	b := backoff.Backoff{Min: time.Second, Max: 3 * time.Second, Sleep: pauses.sleep}
	tries, failed := 0, errors.New("failed")
	if err := b.Retry(t.Context(), 3, func() (bool, error) { tries++; return true, failed }); err != failed || tries != 4 {
		t.Errorf("%d tries, %v", tries, err)
	}
	if want := (clock{time.Second, 2 * time.Second, 3 * time.Second}); !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
	if err := b.Retry(t.Context(), 3, func() (bool, error) { return false, failed }); err != failed {
		t.Error(err)
	}
}

func TestPausesEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupted")
	b := backoff.Backoff{Min: time.Hour, Max: time.Hour}
	if err := b.Retry(ctx, -1, func() (bool, error) { cancel(reason); return true, nil }); err != reason {
		t.Error(err)
	}
}

func TestASeriesBeginsAnew(t *testing.T) {
	b := backoff.Backoff{Min: time.Second, Max: time.Minute}
	for n, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		if got := b.Next(); got != want || b.After(n) != want {
			t.Errorf("pause %d is %v, and %v by its number; want %v", n, got, b.After(n), want)
		}
	}
	b.Reset()
	if got := b.Next(); got != time.Second {
		t.Errorf("the first pause of another series is %v", got)
	}
	if got := b.After(1 << 40); got != time.Minute {
		t.Errorf("the pause after very many tries is %v", got)
	}
}
