package backoff_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/node/backoff"
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
		var poll backoff.Poll
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
