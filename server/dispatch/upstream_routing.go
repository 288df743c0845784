package dispatch

import (
	"context"
	"errors"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// Routing is Backend.Routing at the endpoint in use, whichever that is. After a change of the endpoint it may return an equal value.
func (u *Upstream) Routing(ctx context.Context, hostID string, seen *traffic.Routing) (*traffic.Routing, error) {
	for {
		c := u.current.Load()
		if c == nil {
			return nil, errDisconnected
		}
		at, cancel := c.untilReplaced(ctx)
		routing, err := c.Routing(at, hostID, seen)
		cancel()
		select {
		case <-c.replaced:
			if ctx.Err() == nil {
				continue
			}
		default:
		}
		if errors.Is(err, spec.ErrClosed) {
			u.drop(c.assignmentSource)
			err = errDisconnected
		}
		return routing, err
	}
}

// untilReplaced is ctx until another connection takes the place of this one.
func (c *connection) untilReplaced(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-c.replaced:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
