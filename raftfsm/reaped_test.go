package raftfsm

import (
	"bytes"
	"testing"
	"time"
)

// Whoever keeps ended tasks has to know whether some went meanwhile: the state remembers the entry that removed the last ones, in its
// snapshots too.
func TestTheStateKnowsWhenTasksWereReaped(t *testing.T) {
	h := newHistory(t)
	hour := time.Unix(1000*3600, 0)
	ended(t, h, "a", "vision", hour, hour.Add(time.Minute))
	h.do(t, Reap{Before: hour})
	if at := h.View().Reaped(); at != 0 {
		t.Errorf("nothing was reaped, and entry %d is said to have", at)
	}
	h.do(t, Reap{Before: hour.Add(time.Hour)})
	reaped := h.View().Index()
	if at := h.View().Reaped(); at != reaped || h.View().Task("a") != nil {
		t.Errorf("entry %d, not %d", at, reaped)
	}
	ended(t, h, "b", "vision", hour, hour.Add(3*time.Hour))
	var text bytes.Buffer
	if err := h.View().WriteSnapshot(&text); err != nil {
		t.Fatal(err)
	}
	restored := NewState()
	if err := restored.Restore(&text); err != nil {
		t.Fatal(err)
	}
	if at := restored.View().Reaped(); at != reaped || restored.View().Index() <= reaped {
		t.Errorf("restored: entry %d, not %d", at, reaped)
	}
}
