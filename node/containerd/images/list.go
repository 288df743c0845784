package images

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/platforms"

	"pinion/raftfsm/blob"
)

// List lists the images of the host under each of their tags, by name; an image without a tag under its digest. The built-in image is none
// of them.
func List(ctx context.Context, s *Store) ([]blob.Image, error) {
	stored, err := s.config.Client.ImageService().List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the images: %w", err)
	}
	resolved := map[string]int64{}
	for _, i := range stored {
		resolved[i.Name] = resolvedAt(i)
	}
	var all []blob.Image
	for _, group := range groupByDigest(stored) {
		if slices.Contains(group.names, builtinName) {
			continue
		}
		size := sizeOf(ctx, s, group)
		for _, name := range namesToShow(group.names) {
			all = append(all, blob.Image{Name: name, Digest: group.digest, Size: size, Resolved: resolved[name]})
		}
	}
	slices.SortFunc(all, func(a, b blob.Image) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// namesToShow are the tags of an image, or one of its names by digest if it has none.
func namesToShow(names []string) []string {
	tags := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(name, "@") })
	if len(tags) == 0 {
		return names[:1]
	}
	return tags
}

// sizeOf is the size in bytes of an image's blobs for this host's platform, 0 while it is being pulled.
func sizeOf(ctx context.Context, s *Store, group *imageGroup) int64 {
	image := images.Image{Target: group.target}
	size, err := image.Size(ctx, s.config.Client.ContentStore(), platforms.Default())
	if err != nil {
		return 0
	}
	return size
}
