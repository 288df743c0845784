package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/containerd/v2/core/snapshots/storage"
	"github.com/containerd/errdefs"
)

// sweepSnapshots removes snapshot directories that the snapshotter's own records do not name, with the daemon down. A
// daemon that dies between making such a directory and committing its record leaves one behind; the next daemon gives
// the same number out again, finds the name taken, and can start no container any more.
func sweepSnapshots(ctx context.Context, root, snapshotter string) error {
	home := filepath.Join(root, "io.containerd.snapshotter.v1."+snapshotter)
	entries, err := os.ReadDir(filepath.Join(home, "snapshots"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	known, err := recordedSnapshots(ctx, filepath.Join(home, "metadata.db"))
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	for _, e := range entries {
		if _, ok := known[e.Name()]; ok || strings.HasPrefix(e.Name(), "rm-") {
			continue // what is being removed, the snapshotter finishes itself
		}
		if err := os.RemoveAll(filepath.Join(home, "snapshots", e.Name())); err != nil {
			return fmt.Errorf("snapshots: removing what no record names: %w", err)
		}
	}
	return nil
}

// recordedSnapshots are the directory names that the snapshotter has committed.
func recordedSnapshots(ctx context.Context, path string) (map[string]string, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	records, err := storage.NewMetaStore(path)
	if err != nil {
		return nil, err
	}
	defer records.Close()
	var known map[string]string
	err = records.WithTransaction(ctx, false, func(ctx context.Context) error {
		known, err = storage.IDMap(ctx)
		if errdefs.IsNotFound(err) {
			return nil // nothing was ever committed
		}
		return err
	})
	return known, err
}
