package id

import (
	"encoding/hex"
	"testing"
	"testing/synctest"
	"time"
)

// People name a task by the beginning of its id: no two of many that are made together have the same one.
func TestTaskIDsDifferInTheirBeginnings(t *testing.T) {
	const inARow = 1 << 16
	seen := map[string]bool{}
	for range inARow {
		id := NewTask()
		if digits, err := hex.DecodeString(id); err != nil || len(digits) != 16 {
			t.Fatalf("%q is not 32 hex digits", id)
		}
		seen[id[4:8]] = true
	}
	if len(seen) != inARow {
		t.Fatalf("%d ids have %d beginnings", inARow, len(seen))
	}
}

// The trees of the state are copied where an entry changes them: what is made together has to lie together.
func TestTasksThatAreMadeTogetherLieTogether(t *testing.T) {
	const tick = 64 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(time.Now().Truncate(tick).Add(tick))) // the beginning of a tick
		first, second := NewTask()[:4], NewTask()[:4]
		<-time.After(tick)
		third := NewTask()[:4]
		if first != second || third <= second {
			t.Errorf("made at once: %s and %s; then %s", first, second, third)
		}
	})
}
