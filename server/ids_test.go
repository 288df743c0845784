package server

import (
	"encoding/hex"
	"testing"
)

// People name a task by the beginning of its id: no two of many that are made together have the same one.
func TestTaskIDsDifferInTheirBeginnings(t *testing.T) {
	const inARow = 1 << 16
	seen := map[string]bool{}
	for range inARow {
		id := newTaskID()
		if digits, err := hex.DecodeString(id); err != nil || len(digits) != 16 {
			t.Fatalf("%q is not 32 hex digits", id)
		}
		seen[id[4:8]] = true
	}
	if len(seen) != inARow {
		t.Fatalf("%d ids have %d beginnings", inARow, len(seen))
	}
}
