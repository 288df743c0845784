package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestBackoffDoublesUpToItsMaximum(t *testing.T) {
	var pauses []time.Duration
	b := Backoff{Min: time.Second, Max: 3 * time.Second, Tries: 3, Sleep: func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	}}
	tries, failed := 0, errors.New("failed")
	if err := b.Retry(t.Context(), func() (bool, error) { tries++; return true, failed }); err != failed || tries != 4 {
		t.Errorf("%d tries, %v", tries, err)
	}
	if want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}; !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
	if err := b.Retry(t.Context(), func() (bool, error) { return false, failed }); err != failed {
		t.Error(err)
	}
}

func TestBackoffEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupted")
	err := Backoff{Min: time.Hour, Max: time.Hour, Tries: -1}.Retry(ctx, func() (bool, error) { cancel(reason); return true, nil })
	if err != reason {
		t.Error(err)
	}
}

func TestUnavailableErrorsMayPassByThemselves(t *testing.T) {
	for err, want := range map[error]bool{
		&APIError{Status: 503}:                    true,
		&APIError{Status: 400}:                    false,
		fmt.Errorf("x: %w", ErrUnreachable):       true,
		fmt.Errorf("x: %w", ErrLogInterrupted):    true,
		fmt.Errorf("x: %w", ErrEventsInterrupted): true,
		context.Canceled:                          false,
	} {
		if got := IsUnavailable(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
