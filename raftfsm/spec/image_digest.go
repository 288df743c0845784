package spec

import (
	"slices"
	"strings"

	"pinion/raftfsm/blob"
)

// VersionConsistencyDisabled has the tag of a container's image looked up at each start of the container.
const VersionConsistencyDisabled = "disabled"

// BuiltinImage is made by each host of its own pinion binary, so it has no digest that hosts share.
const BuiltinImage = blob.Builtin

// ResolvesOnce reports whether the tag of the image is resolved to a digest once: for all tasks of a run, their retries and the
// restarts of the container.
func (c *ContainerDefinition) ResolvesOnce() bool {
	return c.VersionConsistency != VersionConsistencyDisabled && !IsBuiltinImage(c.Image) && !strings.Contains(c.Image, "@")
}

// IsBuiltinImage reports whether a name is that of BuiltinImage.
func IsBuiltinImage(name string) bool {
	return strings.TrimSuffix(strings.TrimPrefix(name, "docker.io/"), ":latest") == BuiltinImage
}

// ResolvesOnce reports whether that is so for any container.
func (d *TaskDefinition) ResolvesOnce() bool {
	return slices.ContainsFunc(d.Containers, func(c ContainerDefinition) bool { return c.ResolvesOnce() })
}

// Resolved reports whether the images of the task's containers have digests. Those that are resolved once get theirs in one report,
// before any container starts.
func (t *Task) Resolved() bool {
	for i := range t.Containers { // each comparison of the tasks of a run asks this, and a container is large
		if t.Containers[i].ImageDigest != "" {
			return true
		}
	}
	return false
}

// TakeDigests gives the task, which is a copy of its own, the digests that another task of its run has of the images that are
// resolved once. Either argument may be nil.
func (t *Task) TakeDigests(from *Task, d *TaskDefinition) {
	if from == nil || d == nil {
		return
	}
	for _, c := range d.Containers {
		i := slices.IndexFunc(t.Containers, func(mine Container) bool { return mine.Name == c.Name })
		if digest := from.ImageDigest(c.Name); i >= 0 && digest != "" && c.ResolvesOnce() {
			t.Containers[i].ImageDigest = digest
		}
	}
}

// ImageDigest is the digest of a container's image, empty when it is not known.
func (t *Task) ImageDigest(container string) string {
	for i := range t.Containers {
		if t.Containers[i].Name == container {
			return t.Containers[i].ImageDigest
		}
	}
	return ""
}
