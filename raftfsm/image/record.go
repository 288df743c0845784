// Package image has the images that the pool keeps by itself, beside what its tasks use: those that were imported without a registry, and
// those that are pinned to hosts. Package raftfsm registers the noun and its commands. See docs/images.md.
package image

import (
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/blob"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

const (
	// Max bounds the images that a pool keeps.
	Max = 1000
	// DefaultCopies is the number of hosts that keep an image for which no hosts were chosen.
	DefaultCopies = 3
	// MaxCopies bounds Copies.
	MaxCopies = 1000
)

// Image is an image that the pool keeps: hosts have it, and do not remove it while it is recorded.
type Image struct {
	Name   string `json:"name"`   // as blob.NormalizeName writes it
	Digest string `json:"digest"` // of its manifest or its index: "sha256:..."
	Size   int64  `json:"size"`   // of its blobs in bytes, as they are stored
	// Imported says that it came from an archive: in this pool its name means Digest, and no registry is asked. Otherwise it is pinned.
	Imported bool `json:"imported,omitempty"`
	// Hosts is an expression of the cluster query language: the hosts that keep it. Empty: any Copies hosts.
	Hosts  string    `json:"hosts,omitempty"`
	Copies int       `json:"copies,omitempty"`
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"` // ARN of its principal
}

// ByName has every image.
var ByName = table.By(func(i *Image) string { return i.Name })

// Find returns the image of a normalized name; nil when the pool keeps none.
func Find(r table.Reader, name string) *Image { return ByName.Get(r, sortkey.Key{First: name}) }

// All lists the images that the pool keeps, by name.
func All(r table.Reader) []*Image { return slices.Collect(ByName.All(r)) }

// Resolve gives a new task the digests of its images that were imported, and returns it: a copy where it gives any.
func Resolve(r table.Reader, task *spec.Task, d *spec.TaskDefinition) *spec.Task {
	if ByName.Len(r) == 0 || d == nil {
		return task
	}
	resolved := *task
	resolved.Containers = slices.Clone(task.Containers)
	for _, c := range d.Containers {
		i := slices.IndexFunc(resolved.Containers, func(mine spec.Container) bool { return mine.Name == c.Name })
		if i >= 0 && resolved.Containers[i].ImageDigest == "" && c.ResolvesOnce() {
			resolved.Containers[i].ImageDigest = importedDigest(r, c.Image)
		}
	}
	return &resolved
}

// importedDigest returns the digest that was imported under a name of an image; empty when none was.
func importedDigest(r table.Reader, name string) string {
	name, err := blob.NormalizeName(strings.TrimSpace(name))
	if err != nil {
		return ""
	}
	if known := Find(r, name); known != nil && known.Imported {
		return known.Digest
	}
	return ""
}
