package images

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"

	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
)

// Remove removes all names of an image with that digest from the host; its blobs go soon after. spec.ErrNotFound when it is
// not here, spec.ErrInUse while a container has it or a pull may be about to need it.
func Remove(ctx context.Context, s *Store, digest string) error {
	stored, err := s.config.Client.ImageService().List(ctx, "target.digest=="+digest)
	if err != nil {
		return err
	}
	if len(stored) == 0 {
		return fmt.Errorf("image %s: %w", digest, spec.ErrNotFound)
	}
	group := groupByDigest(stored)[0]
	inUse, err := s.config.InUse(ctx)
	if err != nil {
		return err
	}
	if inUse[digest] || s.pulls.anyUnderWay(group.names) {
		return fmt.Errorf("image %s: %w: a container of a task is made of it", digest, spec.ErrInUse)
	}
	defer s.blobPeer.Removed()
	if err := func() error {
		s.removal.Lock()
		defer s.removal.Unlock()
		return deleteNames(ctx, s, group)
	}(); err != nil {
		return err
	}
	collectSoon(ctx, s)
	return nil
}

// collectSoon has containerd delete the content that no image has any more. That may take long, and nobody waits for it.
func collectSoon(ctx context.Context, s *Store) {
	s.background.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
		defer cancel()
		if err := s.collectGarbage(ctx); err != nil {
			s.config.Log.Warn("what was removed takes space until containerd collects it", "error", err)
		}
		s.blobPeer.Removed() // until now other hosts were told of its blobs
	})
}

// deleteNames deletes all names of an image, whose removal lock the caller holds.
func deleteNames(ctx context.Context, s *Store, group *imageGroup) error {
	for _, name := range group.names {
		if err := s.config.Client.ImageService().Delete(ctx, name); err != nil && !errdefs.IsNotFound(err) {
			return err
		}
	}
	s.cache.evict(group.digest)
	s.uses.forget(group.digest)
	return nil
}

// PruneAll removes every image that no container has, that was not used within the last ten minutes, and that the pool does not keep. It
// returns them; with dryRun it removes none.
func PruneAll(ctx context.Context, s *Store, dryRun bool) (removed []blob.Image, err error) {
	stored, err := s.config.Client.ImageService().List(ctx)
	if err != nil {
		return nil, err
	}
	inUse, err := s.config.InUse(ctx)
	if err != nil {
		return nil, err
	}
	for _, group := range candidates(groupByDigest(stored), inUse, nil, s.uses.since(time.Now().Add(-minUnused))) {
		image, gone := blob.Image{Name: namesToShow(group.names)[0], Digest: group.digest, Size: sizeOf(ctx, s, group)}, !s.pulls.anyUnderWay(group.names)
		if !dryRun {
			if gone, err = s.removeNames(ctx, group); err != nil {
				break
			}
		}
		if gone {
			removed = append(removed, image)
		}
	}
	if !dryRun {
		s.blobPeer.Removed()
		collectSoon(ctx, s)
	}
	return removed, err
}
