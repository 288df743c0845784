package host

import (
	"context"

	"pinion/api/cli"
	"pinion/packaging/upgrade"
)

// Restartable is Up of a build in a process whose program may be exchanged; see package upgrade.
func Restartable(b Build) func(context.Context, cli.UpConfig) error {
	return func(ctx context.Context, config cli.UpConfig) error {
		return upgrade.Restartable(ctx, config.DataDir, func(ctx context.Context) error { return b.Up(ctx, config) })
	}
}

// confirmUpgrade records that a new program works, once the host has taken up its tasks as the pool has assigned them.
func confirmUpgrade(ctx context.Context, h *host) {
	select {
	case <-h.agent.Assigned:
	case <-ctx.Done():
		return
	}
	if err := upgrade.Confirm(h.dir.Path); err != nil {
		h.log.Error("this program works, and that cannot be recorded: it will be taken for one that does not", "error", err)
	}
}
