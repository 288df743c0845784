package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"pinion/api/cli"
	"pinion/node/containerd"
	"pinion/node/containerd/daemon"
	"pinion/node/datadir"
	"pinion/node/logs"
	"pinion/node/network"
)

// Down stops everything that belongs to a data directory: its pinion process, tasks, containerd and networks. With Purge it
// also removes the directory.
func Down(ctx context.Context, config cli.DownConfig) error {
	h := &host{config: cli.UpConfig{DataDir: config.DataDir}, log: slog.New(slog.DiscardHandler)}
	defer h.close()
	if err := datadir.StopOwner(ctx, config.DataDir); err != nil {
		return err
	}
	if err := h.openDirectory(ctx); err != nil {
		return err
	}
	if err := h.removeContainers(ctx); err != nil {
		return fmt.Errorf("ending the tasks of %s: %w", config.DataDir, err)
	}
	if config.Purge {
		return h.dir.Purge()
	}
	return nil
}

// removeContainers stops and removes every container of the directory, then its containerd and its networks. Everything it
// opens is closed, also after a failure.
func (h *host) removeContainers(ctx context.Context) (err error) {
	address, err := h.dir.Containerd()
	if err != nil {
		return err
	}
	h.config.Containerd = address
	snapshotter := ""
	if address == "" {
		own, startErr := daemon.Start(ctx, h.daemonConfig())
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, own.Stop(ctx)) }()
		address, snapshotter = own.Address(), own.Snapshotter()
	}
	h.logs = logs.NewStore(h.dir.Join("logs"))
	runtime, err := containerd.Open(ctx, h.runtimeConfig(address, snapshotter))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runtime.Close()) }()
	found, err := runtime.List(ctx)
	if err != nil {
		return err
	}
	for _, c := range found {
		if err := runtime.Remove(ctx, c.ID); err != nil {
			return err
		}
	}
	return network.Destroy(ctx, h.tools.CNI, h.dir.Join("network"))
}
