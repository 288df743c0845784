package images

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/distribution/reference"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// labelResolved is on images under a tag: when a registry said last that the tag means this, in seconds since 1970.
const labelResolved = "pinion.resolved"

// resolvedAt is the value of labelResolved, 0 without it and for an image that came by the credentials of a task: what a registry tells those is
// for nobody else.
func resolvedAt(i images.Image) int64 {
	at, err := strconv.ParseInt(i.Labels[labelResolved], 10, 64)
	if err != nil || isPrivate(&i) {
		return 0
	}
	return at
}

// pullLabels are the labels of an image that is pulled by a name.
func pullLabels(named reference.Named, login *runtime.RegistryLogin) map[string]string {
	if login != nil {
		return privateLabels(login)
	}
	if isDigested(named) {
		return nil
	}
	return map[string]string{labelResolved: strconv.FormatInt(time.Now().Unix(), 10)}
}

func isDigested(named reference.Named) bool {
	_, digested := named.(reference.Digested)
	return digested
}

// pullResolvedTag pulls what a tag whose registry cannot be reached meant last to another host of the cluster, if the cluster lets its hosts do that.
func pullResolvedTag(ctx context.Context, s *Store, tag reference.Named, progress func(spec.Pull), unreachable error) (runtime.Image, error) {
	meant, err := s.blobPeer.ResolvedTag(ctx, tag.String())
	if err != nil {
		return runtime.Image{}, unreachable
	}
	last := fmt.Sprintf("%s, which the tag meant at %s to another host of the cluster", meant.Digest, time.Unix(meant.At, 0).UTC().Format(time.RFC3339))
	if !meant.Use {
		return runtime.Image{}, fmt.Errorf("%w; the pool has %s: the cluster's setting %s lets its hosts use that", unreachable, last, spec.SettingTagsWithoutRegistry)
	}
	s.config.Log.Warn("the registry cannot be reached; using what the tag meant last to another host of the cluster", "image", tag.String(), "digest", meant.Digest,
		"resolvedAt", time.Unix(meant.At, 0).UTC(), "error", unreachable)
	image, err := s.tryPull(ctx, reference.TrimNamed(tag).String()+"@"+meant.Digest, progress)
	if err != nil {
		return image, fmt.Errorf("%w; and %s, does not come either: %w", unreachable, last, err)
	}
	return image, nil
}
