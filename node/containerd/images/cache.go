package images

import (
	"context"
	"fmt"
	"sync"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/opencontainers/image-spec/identity"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"pinion/node/runtime"
)

// Unpacked is the data of an unpacked image that a container start needs.
type Unpacked struct {
	Config  ocispec.ImageConfig
	ChainID string // the parent snapshot of containers' file systems
}

// maxCached bounds the cache; it is far above the number of images that a host runs at a time.
const maxCached = 256

// cache holds Unpacked values by digest, so that a start reads nothing of the image.
type cache struct {
	client      *containerd.Client
	snapshotter string

	mu       sync.Mutex
	byDigest map[string]*Unpacked
}

// load returns a pulled image.
func (c *cache) load(ctx context.Context, i runtime.Image) (*Unpacked, error) {
	if known := c.get(i.Digest); known != nil {
		return known, nil
	}
	name, err := pinnedName(i)
	if err != nil {
		return nil, err
	}
	stored, err := c.client.ImageService().Get(ctx, name)
	if errdefs.IsNotFound(err) {
		return nil, fmt.Errorf("image %s (%s) is not on this host any more; run the task again to pull it", i.Ref, i.Digest)
	}
	if err != nil {
		return nil, err
	}
	return c.add(ctx, stored)
}

func (c *cache) get(digest string) *Unpacked {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byDigest[digest]
}

// add reads an image and caches it.
func (c *cache) add(ctx context.Context, stored images.Image) (*Unpacked, error) {
	full := containerd.NewImage(c.client, stored)
	diffIDs, err := full.RootFS(ctx)
	if err != nil {
		return nil, err
	}
	spec, err := full.Spec(ctx)
	if err != nil {
		return nil, err
	}
	added := &Unpacked{Config: spec.Config, ChainID: identity.ChainID(diffIDs).String()}
	c.put(stored.Target.Digest.String(), added)
	return added, nil
}

func (c *cache) put(digest string, added *Unpacked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byDigest[digest] == nil && len(c.byDigest) >= maxCached {
		for other := range c.byDigest { // evict any one: it is read again when it is needed
			delete(c.byDigest, other)
			break
		}
	}
	c.byDigest[digest] = added
}

// evict removes an image from the cache.
func (c *cache) evict(digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byDigest, digest)
}

// lookup returns the image of that name if it is on this host and ready for use; nil otherwise.
func (c *cache) lookup(ctx context.Context, name string) (*images.Image, error) {
	stored, err := c.client.ImageService().Get(ctx, name)
	if errdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if c.get(stored.Target.Digest.String()) != nil {
		return &stored, nil
	}
	full := containerd.NewImage(c.client, stored)
	unpacked, err := full.IsUnpacked(ctx, c.snapshotter)
	if errdefs.IsNotFound(err) {
		return nil, nil // content is missing, or the image is for another platform: pull it again
	}
	if err != nil {
		return nil, err
	}
	if !unpacked {
		if err := full.Unpack(ctx, c.snapshotter); err != nil {
			return nil, fmt.Errorf("unpack image %s: %w", name, err)
		}
	}
	_, err = c.add(ctx, stored)
	return &stored, err
}

// pinDigest gives an image a second name by its digest. That name stays when a tag moves, so containers that are about to
// start from the image still can. That it is private, or not any more, is said of both names.
func (c *cache) pinDigest(ctx context.Context, i runtime.Image, pulled images.Image) error {
	name, err := pinnedName(i)
	if err != nil {
		return err
	}
	pinned := images.Image{Name: name, Target: pulled.Target, Labels: privateLabels(nil)}
	if isPrivate(&pulled) {
		pinned.Labels = map[string]string{labelPrivate: pulled.Labels[labelPrivate]}
	}
	_, err = c.client.ImageService().Create(ctx, pinned)
	if !errdefs.IsAlreadyExists(err) {
		return err
	}
	if before, err := c.client.ImageService().Get(ctx, name); err != nil || isPrivate(&before) == isPrivate(&pinned) {
		return err
	}
	if isPrivate(&pinned) { // it was not before: who had it keeps it
		return nil
	}
	_, err = c.client.ImageService().Update(ctx, pinned, "labels")
	return err
}

// pinnedName is "registry/repository@digest".
func pinnedName(i runtime.Image) (string, error) {
	named, err := reference.ParseDockerRef(i.Ref)
	if err != nil {
		return "", fmt.Errorf("image %s: %w", i.Ref, err)
	}
	return reference.TrimNamed(named).String() + "@" + i.Digest, nil
}
