package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"pinion/api/cli"
	"pinion/api/cli/format"
	"pinion/node/containerd"
	"pinion/node/containerd/daemon"
	"pinion/node/datadir"
	"pinion/node/filesystem"
	"pinion/node/logs"
	"pinion/node/metadata"
	"pinion/node/network"
	noderuntime "pinion/node/runtime"
)

// Down stops everything that belongs to a data directory: its pinion process, tasks, containerd and networks. With Purge it
// also removes the directory. Unless it is forced, it refuses while tasks run; nothing is stopped then, but a pinion process
// whose containerd does not answer. It returns how many running tasks it ended, or with DryRun would end.
func Down(ctx context.Context, config cli.DownConfig) (ended int, err error) {
	h := &host{config: cli.UpConfig{DataDir: config.DataDir}, log: slog.New(slog.DiscardHandler)}
	defer h.close()
	if !config.Force || config.DryRun {
		running, err := runningTasks(ctx, config.DataDir)
		if err == nil && !config.Force {
			err = runningError(running)
		}
		if err != nil || config.DryRun {
			return len(running), err
		}
	}
	if err := datadir.StopOwner(ctx, config.DataDir); err != nil {
		return 0, err
	}
	unused, err := neverRan(config.DataDir)
	if err != nil || unused && !config.Purge {
		return 0, err
	}
	if err := h.openDirectory(ctx); err != nil {
		return 0, err
	}
	if !unused {
		if err := h.prepareDirectory(ctx); err != nil {
			return 0, err
		}
		if ended, err = h.removeContainers(ctx, config.Force); err != nil {
			return 0, fmt.Errorf("ending what runs from %s: %w", config.DataDir, err)
		}
	}
	if config.Purge {
		return ended, h.dir.Purge()
	}
	return ended, nil
}

// neverRan reports whether no containerd was ever started or used from the directory: then there is nothing to end, and a containerd
// started to look for it would be the first. It only looks.
func neverRan(path string) (bool, error) {
	dir, err := datadir.OpenReadOnly(path)
	if err != nil {
		return false, err
	}
	address, err := dir.Containerd()
	if err != nil || address != "" {
		return false, err
	}
	_, err = os.Stat(dir.Join("containerd"))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// runningTasks are the tasks that run from the directory, by the containerd of it that answers; none when none does. It only looks.
func runningTasks(ctx context.Context, path string) ([]string, error) {
	dir, err := datadir.OpenReadOnly(path)
	if err != nil {
		return nil, err
	}
	address, err := dir.Containerd()
	if err != nil {
		return nil, err
	}
	namespace := containerdNamespace(dir, address)
	if address == "" {
		address = daemon.Socket(dir.Join("containerd"))
	}
	return containerd.RunningTasks(ctx, address, namespace)
}

// runningError refuses to end tasks that run.
func runningError(tasks []string) error {
	if len(tasks) == 0 {
		return nil
	}
	short := make([]string, len(tasks))
	for i, id := range tasks {
		short[i] = format.ID(id)
	}
	return fmt.Errorf("%s still running on this host (%s): stop them with `pinion stop`, or end them at once with --force", format.Plural(len(tasks), "task"), format.List(short))
}

// removeContainers stops and removes every container of the directory, then its containerd, its networks and the sharing of its GPUs. Unless it is
// forced, it refuses while tasks run, and returns how many of them it ended. Everything it opens is closed, also after a failure.
func (h *host) removeContainers(ctx context.Context, force bool) (ended int, err error) {
	address, err := h.dir.Containerd()
	if err != nil {
		return 0, err
	}
	h.config.Containerd = address
	snapshotter := ""
	if address == "" {
		own, startErr := daemon.Start(ctx, h.daemonConfig())
		if startErr != nil {
			return 0, startErr
		}
		defer func() { err = errors.Join(err, own.Stop(ctx)) }()
		address, snapshotter = own.Address(), own.Snapshotter()
	}
	h.logs = logs.NewStore(h.dir.Join("logs"))
	runtime, err := containerd.Open(ctx, h.runtimeConfig(address, snapshotter))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, runtime.Close()) }()
	found, err := runtime.List(ctx)
	if err != nil {
		return 0, err
	}
	running := containerd.TasksOf(found)
	if !force && len(running) > 0 {
		return 0, runningError(running)
	}
	if err := removeAll(ctx, runtime, found); err != nil {
		return 0, err
	}
	return len(running), errors.Join(newDevices(h).endSharing(ctx), network.Destroy(ctx, h.tools.CNI, h.dir.Join("network")), filesystem.UnmountAll(ctx, h.dir.Join(fileSystemsDir), h.log), metadata.CleanUp())
}

// removeAll stops and removes containers, until one cannot be removed.
func removeAll(ctx context.Context, runtime *containerd.Runtime, found []noderuntime.ExistingContainer) error {
	for _, c := range found {
		if err := runtime.Remove(ctx, c.ID); err != nil {
			return fmt.Errorf("container %s: %w", c.ID, err)
		}
	}
	return nil
}
