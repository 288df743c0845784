package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pinion/node/filetree"

	"github.com/containerd/containerd/v2/core/snapshots/storage"
	"github.com/containerd/errdefs"
)

// sweepSnapshots removes snapshot directories without a record in the snapshotter's database; the daemon must not run. A
// daemon that dies between creating such a directory and committing its record leaves one behind. The next daemon assigns
// the same number again, finds the name taken, and can start no more containers.
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
			continue // the snapshotter completes its own removals
		}
		if err := filetree.Remove(ctx, filepath.Join(home, "snapshots", e.Name())); err != nil {
			return fmt.Errorf("snapshots: removing what no record names: %w", err)
		}
	}
	return nil
}

// recordedSnapshots returns the directory names of the snapshotter's committed records.
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
