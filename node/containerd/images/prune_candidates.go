package images

import (
	"cmp"
	"slices"
	"time"

	"github.com/containerd/containerd/v2/core/images"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// imageGroup is one image with all its names: tags, and the name by digest.
type imageGroup struct {
	digest string
	target ocispec.Descriptor
	names  []string
	kept   bool      // by the pool
	used   time.Time // last use, or the time of the pull
}

// groupByDigest groups names by image digest.
func groupByDigest(stored []images.Image) []*imageGroup {
	byDigest := map[string]*imageGroup{}
	var groups []*imageGroup
	for _, i := range stored {
		digest := i.Target.Digest.String()
		group := byDigest[digest]
		if group == nil {
			group = &imageGroup{digest: digest, target: i.Target}
			byDigest[digest] = group
			groups = append(groups, group)
		}
		group.names = append(group.names, i.Name)
		group.kept = group.kept || i.Labels[labelKept] != ""
		if used := lastUse(i); used.After(group.used) {
			group.used = used
		}
	}
	return groups
}

func lastUse(i images.Image) time.Time {
	if at, err := time.Parse(time.RFC3339, i.Labels[labelUsed]); err == nil {
		return at
	}
	return i.CreatedAt
}

// candidates returns the images that may be removed, the least recently used first.
func candidates(groups []*imageGroup, inUse, keep map[string]bool, recent map[string]bool) []*imageGroup {
	var unused []*imageGroup
	for _, group := range groups {
		kept := group.kept || slices.ContainsFunc(group.names, func(name string) bool { return keep[name] })
		if !kept && !inUse[group.digest] && !recent[group.digest] {
			unused = append(unused, group)
		}
	}
	slices.SortFunc(unused, func(a, b *imageGroup) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.digest, b.digest))
	})
	return unused
}
