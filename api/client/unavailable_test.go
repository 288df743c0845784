package client

import (
	"context"
	"fmt"
	"testing"
)

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
