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
		view, err := leader.LocalView(ctx, c.router)
		if err != nil {
			continue
		}
		if err := auth.CheckLives(keyID, view, c.now()); err != nil {
			cancel(err)
			return
		}
	}
}
