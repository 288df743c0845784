package admission

import (
	"testing"
	"time"
)

// A key that no server has is looked for ever more seldom, and at least once a minute.
func TestTriesForAMissingKeyBecomeRare(t *testing.T) {
	var f KeyringFetcher
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var pauses []time.Duration
	for last := now; len(pauses) < 9; now = now.Add(time.Second) {
		if f.due(now) {
			pauses = append(pauses, now.Sub(last))
			last = now
		}
	}
	for i, want := range []time.Duration{0, 1, 2, 4, 8, 16, 32, 60, 60} {
		if pauses[i] != want*time.Second {
			t.Fatalf("the pauses were %v", pauses)
		}
	}
}
