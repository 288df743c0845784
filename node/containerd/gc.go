package containerd

import (
	"context"
	"errors"

	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
)

// sweepOrphans removes objects that a crash during Start or Remove left without a container: snapshots, started files,
// secrets and pause containers.
func (r *Runtime) sweepOrphans(ctx context.Context) error {
	records, err := r.client.ContainerService().List(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, record := range records {
		known[record.ID] = true
	}
	var stale []string
	err = r.snapshots().Walk(ctx, func(_ context.Context, info snapshots.Info) error {
		if info.Kind == snapshots.KindActive && !known[info.Name] {
			stale = append(stale, info.Name)
		}
		return nil
	}, "labels."+quoted(labelTask))
	if err != nil {
		return err
	}
	for _, name := range stale {
		if err := r.snapshots().Remove(ctx, name); err != nil && !errdefs.IsNotFound(err) {
			return err
		}
	}
	if err := r.shims.unpinStale(ctx, known); err != nil {
		return err
	}
	return errors.Join(r.started.removeStale(known), r.secrets.removeStale(known), r.pauses.sweep(ctx, records))
}
