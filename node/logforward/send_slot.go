package logforward

import (
	"context"
	"time"
)

// slotTime is the time for which the log of an ended container has its slot before others.
const slotTime = 10 * time.Second

// sendSlot is the right to send the log of an ended container, which maxEnded have at a time. The zero value is one that needs none.
type sendSlot struct {
	slots chan struct{} // nil: it has none to give back
	began time.Time
}

// acquireSlot waits for the slot of a log; that of a container which runs needs none, also when it begins to run meanwhile.
func (f *forwarder) acquireSlot(ctx context.Context) (*sendSlot, error) {
	for f.over.Load() && !f.routed() {
		select {
		case f.all.ended <- struct{}{}:
			return &sendSlot{f.all.ended, time.Now()}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
	return &sendSlot{}, nil
}

// isOver reports whether others are to have their slot.
func (t *sendSlot) isOver() bool { return t.slots != nil && time.Since(t.began) > slotTime }

// end gives the slot to others; again it does nothing.
func (t *sendSlot) end() {
	if t.slots != nil {
		<-t.slots
		t.slots = nil
	}
}
