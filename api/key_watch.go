package api

import (
	"context"
	"time"

	"pinion/api/auth"
	"pinion/api/leader"
)

// keyCheckInterval is how often a stream looks whether its key is still there.
const keyCheckInterval = 500 * time.Millisecond

// whileKeyLives calls serve with a context that ends when the access key of the request is removed or expires; its cause is the refusal.
func (c *chain) whileKeyLives(r *request, serve func() error) error {
	keyID := r.Resolution.Principal.KeyID
	if keyID == "" {
		return serve()
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	r.Exchange.Request = r.Request.WithContext(ctx)
	go c.watchKey(ctx, keyID, cancel)
	return serve()
}

// watchKey cancels with the refusal when the key has expired or is gone from this host's own copy of the state.
func (c *chain) watchKey(ctx context.Context, keyID string, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(keyCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := c.keyLives(ctx, keyID); err != nil {
			cancel(err)
			return
		}
	}
}

// keyLives is the refusal of a key that has expired or is gone from this host's own copy of the state; nil too while that cannot be read.
func (c *chain) keyLives(ctx context.Context, keyID string) error {
	view, err := leader.LocalView(ctx, c.router)
	if err != nil {
		return nil
	}
	return auth.CheckLives(keyID, view, c.now())
}

// contextOfKey is ctx until the access key is removed or expires; its cause is then the refusal. A key that this host does not know is looked for
// again before it is refused: the copy of the state here may lag behind the leader, which has known it a moment ago.
func (c *chain) contextOfKey(ctx context.Context, keyID string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	end := func() { cancel(nil) }
	if keyID == "" {
		return ctx, end
	}
	if c.keyLives(ctx, keyID) != nil {
		select {
		case <-time.After(keyCheckInterval):
		case <-ctx.Done():
		}
		if err := c.keyLives(ctx, keyID); err != nil {
			cancel(err)
			return ctx, end
		}
	}
	go c.watchKey(ctx, keyID, cancel)
	return ctx, end
}
