package images

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"

	"pinion/node/machine"
)

const (
	// highWater is the share of the disk in use above which Prune removes images, lowWater the share at which it stops.
	// Both are the kubelet's.
	highWater = 0.85
	lowWater  = 0.80
	// minUnused is the time that an image stays after its last use: a container may be about to start from it.
	minUnused = 10 * time.Minute
	// labelUsed is the time of an image's last use; it keeps the order over restarts.
	labelUsed = "pinion.used"
)

// Prune removes images that were not used for Limits.MaxAge, and more of them while the disk is above its high-water mark, the
// least recently used first. It keeps the images named in keep and those that the pool keeps, images of containers, images used within the last ten minutes, and
// images being pulled.
func (s *Store) Prune(ctx context.Context, keep []string) error {
	stored, err := s.config.Client.ImageService().List(ctx)
	if err != nil {
		return fmt.Errorf("remove unused images: %w", err)
	}
	groups := groupByDigest(stored)
	s.uses.retain(groups)
	if err := s.recordUses(ctx, groups); err != nil {
		return fmt.Errorf("remove unused images: %w", err)
	}
	used, err := s.config.DiskUsed()
	if err != nil {
		return err
	}
	inUse, err := s.config.InUse(ctx)
	if err != nil {
		return fmt.Errorf("remove unused images: %w", err)
	}
	unused := candidates(groups, inUse, normalised(keep), s.uses.since(time.Now().Add(-minUnused)))
	full := used >= s.config.Limits.High
	for _, image := range unused {
		if !full && !s.isTooOld(image) {
			return nil
		}
		if err := s.remove(ctx, image, full); err != nil {
			return fmt.Errorf("remove unused image %s: %w", image.names[0], err)
		}
		s.blobPeer.Removed()
		if full {
			if used, err = s.config.DiskUsed(); err != nil {
				return err
			}
			full = used >= s.config.Limits.Low
		}
	}
	if used >= s.config.Limits.High {
		s.config.Log.Warn("the disk of the images is nearly full, and every image is in use or was used just now", "used", fmt.Sprintf("%.0f%%", 100*used))
	}
	return nil
}

func (s *Store) isTooOld(image *imageGroup) bool {
	age := s.config.Limits.MaxAge
	return age > 0 && image.used.Before(time.Now().Add(-age))
}

// recordUses writes the last uses into the images' labels. This happens here and not at the use itself, because a container
// start waits for the use.
func (s *Store) recordUses(ctx context.Context, groups []*imageGroup) error {
	unrecorded := s.uses.unrecorded()
	for _, group := range groups {
		at, ok := unrecorded[group.digest]
		if !ok {
			continue
		}
		group.used = at
		update := images.Image{Name: group.names[0], Target: group.target, Labels: map[string]string{labelUsed: at.UTC().Format(time.RFC3339)}}
		if _, err := s.config.Client.ImageService().Update(ctx, update, "labels."+labelUsed); err != nil && !errdefs.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// remove removes all names of an image and waits until its content and snapshots are deleted. An image that was used
// meanwhile stays.
func (s *Store) remove(ctx context.Context, group *imageGroup, full bool) error {
	removed, err := s.removeNames(ctx, group)
	if !removed || err != nil {
		return err
	}
	why := "it was not used for --image-max-age"
	if full {
		why = "the disk is nearly full"
	}
	s.config.Log.Info("an unused image is removed", "image", group.names, "lastUsed", group.used, "reason", why)
	return s.collectGarbage(ctx)
}

func (s *Store) removeNames(ctx context.Context, group *imageGroup) (removed bool, err error) {
	s.removal.Lock() // a pull holds this lock from finding an image to recording its use
	defer s.removal.Unlock()
	if s.uses.usedSince(group.digest, time.Now().Add(-minUnused)) || s.pulls.anyUnderWay(group.names) {
		return false, nil
	}
	err = deleteNames(ctx, s, group)
	return err == nil, err
}

// collectGarbage runs containerd's garbage collection synchronously: a lease is created and deleted with that option.
func (s *Store) collectGarbage(ctx context.Context) error {
	manager := s.config.Client.LeasesService()
	lease, err := manager.Create(ctx, leases.WithRandomID(), leases.WithExpiration(time.Hour))
	if err != nil {
		return err
	}
	return manager.Delete(ctx, lease, leases.SynchronousDelete)
}

// normalised returns image references in the form of the image service's names.
func normalised(refs []string) map[string]bool {
	names := map[string]bool{}
	for _, ref := range refs {
		if named, err := reference.ParseDockerRef(ref); err == nil {
			names[named.String()] = true
		}
	}
	return names
}

// DiskUsed returns the share of the disk at path that is in use, 0 to 1.
func DiskUsed(path string) (float64, error) {
	if path == "" {
		return 0, nil // the daemon did not report its directory
	}
	disk, err := machine.MeasureDisk(path)
	if err != nil || disk.Size == 0 {
		return 0, err
	}
	return 1 - float64(disk.Free)/float64(disk.Size), nil
}

// DiskFree returns the free bytes of the disk at path.
func DiskFree(path string) (int64, error) {
	if path == "" {
		return math.MaxInt64, nil // the daemon did not report its directory
	}
	disk, err := machine.MeasureDisk(path)
	return disk.Free, err
}
