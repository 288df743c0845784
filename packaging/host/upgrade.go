package host

import (
	"context"
	"time"

	"pinion/api/cli"
	"pinion/packaging/upgrade"
)

// Restartable is Up of a build in a process whose program may be exchanged; see package upgrade.
func Restartable(b Build) func(context.Context, cli.UpConfig) error {
	return func(ctx context.Context, config cli.UpConfig) error {
		return upgrade.Restartable(ctx, config.DataDir, func(ctx context.Context, sockets *upgrade.Sockets) error {
			b.sockets = sockets
			return b.Up(ctx, config)
		})
	}
}

// listenersWait bounds the time in which a ready host learns its listeners and takes the sockets of the previous program for them: they come apart
// from its tasks. Clients of a listener that is gone by then wait as long.
const listenersWait = 15 * time.Second

// confirmUpgrade records that a new program works, once the host has taken up its tasks as the pool has assigned them.
func confirmUpgrade(ctx context.Context, h *host) {
	select {
	case <-h.agent.Assigned:
	case <-ctx.Done():
		return
	}
	time.AfterFunc(listenersWait, h.sockets.CloseUnused)
	if err := upgrade.Confirm(h.dir.Path); err != nil {
		h.log.Error("this program works, and that cannot be recorded: it will be taken for one that does not", "error", err)
	}
}
