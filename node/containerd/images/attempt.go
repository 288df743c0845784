package images

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/errdefs"
)

const (
	// attemptLife is the age at which containerd drops the blobs of a pull by itself.
	attemptLife = 24 * time.Hour
	// discardTimeout bounds the removal of the blobs of a failed pull.
	discardTimeout = time.Minute
)

// labelPull is on the leases of pulls; its value is the process.
const labelPull = "pinion.pull"

// attempt is one pull in containerd: all or nothing. What a failed pull leaves would not only take the disk: containerd goes on
// with unfinished content, so wrong bytes would make every later pull of them fail. The same goes for what a process has left that was
// killed while it pulled; a pull goes on with it, and if that fails, it is removed.
type attempt struct {
	store  *Store
	name   string        // empty: of an archive, whose images get their names at its end
	before *images.Image // that had the name; nil: none
	lease  leases.Lease
}

// begin returns a context in which containerd keeps fetched blobs until the attempt ends.
func (s *Store) begin(ctx context.Context, name string) (context.Context, *attempt, error) {
	a := &attempt{store: s, name: name}
	before, err := s.config.Client.ImageService().Get(ctx, name)
	switch {
	case err == nil:
		a.before = &before
	case !errdefs.IsNotFound(err):
		return ctx, nil, err
	}
	return a.hold(ctx)
}

// hold returns a context in which containerd keeps fetched blobs.
func (a *attempt) hold(ctx context.Context) (context.Context, *attempt, error) {
	var err error
	a.lease, err = a.store.config.Client.LeasesService().Create(ctx, leases.WithRandomID(), leases.WithExpiration(attemptLife),
		leases.WithLabel(labelPull, a.store.process))
	return leases.WithLease(ctx, a.lease.ID), a, err
}

// end releases the fetched blobs: an image keeps its content by itself.
func (a *attempt) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	if err := a.store.config.Client.LeasesService().Delete(ctx, a.lease); err != nil {
		a.store.config.Log.Warn("containerd keeps the lease of a pull for a day", "image", a.name, "error", err)
	}
}

// discard removes the fetched blobs, and waits until they are gone. The name is what it was before. Leftovers reports whether
// earlier processes had left unfinished pulls, which are gone too.
func (a *attempt) discard(ctx context.Context) (leftovers bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	client := a.store.config.Client
	leftovers, err := a.store.dropUnfinished(ctx)
	err = errors.Join(err, a.restoreName(ctx, client.ImageService()))
	if err = errors.Join(err, client.LeasesService().Delete(ctx, a.lease, leases.SynchronousDelete)); err != nil {
		a.store.config.Log.Warn("what a failed pull has left takes space until containerd collects it", "image", a.name, "error", err)
	}
	return leftovers
}

// dropUnfinished deletes the leases of pulls that earlier processes did not end, and reports whether there were any.
func (s *Store) dropUnfinished(ctx context.Context) (dropped bool, err error) {
	manager := s.config.Client.LeasesService()
	unfinished, err := manager.List(ctx, `labels."`+labelPull+`"`)
	for _, lease := range unfinished {
		if lease.Labels[labelPull] == s.process {
			continue
		}
		dropped = true
		if deleteErr := manager.Delete(ctx, lease); !errdefs.IsNotFound(deleteErr) {
			err = errors.Join(err, deleteErr)
		}
	}
	return dropped, err
}

func (a *attempt) restoreName(ctx context.Context, names images.Store) error {
	if a.name == "" {
		return nil
	}
	now, err := names.Get(ctx, a.name)
	switch {
	case errdefs.IsNotFound(err) || err == nil && a.before != nil && now.Target.Digest == a.before.Target.Digest:
		return nil
	case err == nil && a.before == nil:
		err = names.Delete(ctx, a.name)
	case err == nil:
		_, err = names.Update(ctx, *a.before)
	}
	if err != nil {
		return fmt.Errorf("restore the name: %w", err)
	}
	return nil
}
