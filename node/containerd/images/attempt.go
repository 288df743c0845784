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
	// attemptLife is when containerd drops what a pull has fetched even if nobody tells it to.
	attemptLife = 24 * time.Hour
	// discardTimeout bounds the removal of what a failed pull has fetched.
	discardTimeout = time.Minute
)

// attempt is one pull in containerd: all or nothing. What a failed pull leaves would not only take the disk: containerd goes on
// with unfinished content, so wrong bytes would make every later pull of them fail.
type attempt struct {
	store  *Store
	name   string
	before *images.Image // that had the name; nil: none
	lease  leases.Lease
}

// begin returns a context in which containerd keeps what is fetched until the attempt ends.
func (s *Store) begin(ctx context.Context, name string) (context.Context, *attempt, error) {
	a := &attempt{store: s, name: name}
	before, err := s.config.Client.ImageService().Get(ctx, name)
	switch {
	case err == nil:
		a.before = &before
	case !errdefs.IsNotFound(err):
		return ctx, nil, err
	}
	a.lease, err = s.config.Client.LeasesService().Create(ctx, leases.WithRandomID(), leases.WithExpiration(attemptLife))
	return leases.WithLease(ctx, a.lease.ID), a, err
}

// end lets go of what was fetched: an image keeps its content by itself.
func (a *attempt) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	if err := a.store.config.Client.LeasesService().Delete(ctx, a.lease); err != nil {
		a.store.config.Log.Warn("containerd keeps the lease of a pull for a day", "image", a.name, "error", err)
	}
}

// discard removes what was fetched, and waits until it is gone. The name is what it was before.
func (a *attempt) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	client := a.store.config.Client
	err := a.restoreName(ctx, client.ImageService())
	if err = errors.Join(err, client.LeasesService().Delete(ctx, a.lease, leases.SynchronousDelete)); err != nil {
		a.store.config.Log.Warn("what a failed pull has left takes space until containerd collects it", "image", a.name, "error", err)
	}
}

func (a *attempt) restoreName(ctx context.Context, names images.Store) error {
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
