package logforward

import (
	"context"
	"time"
)

// turnTime is how long the log of an ended container is sent until others have their turn.
const turnTime = 10 * time.Second

// turn is the right to send the log of an ended container, which maxEnded have at a time. The zero value is one that needs none.
type turn struct {
	slots chan struct{} // nil: it has none to give back
	began time.Time
}

// takeTurn waits for the turn of a log; that of a container which runs needs none, also when it begins to run meanwhile.
func (f *forwarder) takeTurn(ctx context.Context) (*turn, error) {
	for f.over.Load() && !f.routed() {
		select {
		case f.all.ended <- struct{}{}:
			return &turn{f.all.ended, time.Now()}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollInterval):
		}
	}
	return &turn{}, nil
}

// isOver reports whether others are to have their turn.
func (t *turn) isOver() bool { return t.slots != nil && time.Since(t.began) > turnTime }

// end gives the turn to others; again it does nothing.
func (t *turn) end() {
	if t.slots != nil {
		<-t.slots
		t.slots = nil
	}
}
