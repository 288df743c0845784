package schedule

import (
	"maps"
	"slices"
	"strings"

	"github.com/distribution/reference"

	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
)

// maxImageNames bounds the names of images that are remembered in full.
const maxImageNames = 10_000

// imageIndex knows which hosts of a cluster have which images. A tag means every image that a host has under it: hosts that start later
// tasks of a run have the image by its digest alone.
type imageIndex struct {
	digests    map[string]map[string]int // name -> digest -> number of hosts that have it under this name
	hostCounts map[string]int            // digest -> number of hosts that have it
	names      map[string]string         // as task definitions have them -> in full
}

func newImageIndex() imageIndex {
	return imageIndex{digests: map[string]map[string]int{}, hostCounts: map[string]int{}, names: map[string]string{}}
}

// SetImages records which images a host has; nil: it is not known. The list is not changed afterwards. An unknown host is ignored.
func (f *HostSet) SetImages(id string, images *blob.Images) {
	h := f.hosts[id]
	if h == nil || h.images == images {
		return
	}
	c := f.cluster(h.Host.Cluster)
	c.images.forget(h)
	c.images.add(h, images)
	c.markChanged(h)
}

// add counts the images of a host of which none are counted.
func (x *imageIndex) add(h *Host, images *blob.Images) {
	h.images = images
	if images == nil {
		return
	}
	for _, i := range images.List {
		if x.digests[i.Name] == nil {
			x.digests[i.Name] = map[string]int{}
		}
		x.digests[i.Name][i.Digest]++
		h.imageDigests = append(h.imageDigests, i.Digest)
	}
	slices.Sort(h.imageDigests)
	h.imageDigests = slices.Compact(h.imageDigests)
	for _, digest := range h.imageDigests {
		x.hostCounts[digest]++
	}
}

// forget takes the images of a host out of the counts.
func (x *imageIndex) forget(h *Host) {
	if h.images != nil {
		for _, i := range h.images.List {
			decrement(x.digests[i.Name], i.Digest)
			if len(x.digests[i.Name]) == 0 {
				delete(x.digests, i.Name)
			}
		}
	}
	for _, digest := range h.imageDigests {
		decrement(x.hostCounts, digest)
	}
	h.images, h.imageDigests = nil, nil
}

func decrement(counts map[string]int, key string) {
	if counts[key]--; counts[key] <= 0 {
		delete(counts, key)
	}
}

// fullName is the name of an image with its registry and tag; empty for what is none.
func (x *imageIndex) fullName(image string) string {
	if name, known := x.names[image]; known {
		return name
	}
	if len(x.names) >= maxImageNames {
		clear(x.names)
	}
	if named, err := reference.ParseDockerRef(image); err == nil {
		x.names[image] = named.String()
	} else {
		x.names[image] = ""
	}
	return x.names[image]
}

// localImages are the images of a task definition that some of so many hosts have and others lack. What all of them have, or none, decides
// nothing.
func (x *imageIndex) localImages(d *spec.TaskDefinition, hosts int) (images wantedImages) {
	if len(x.hostCounts) == 0 {
		return nil
	}
	for i := range d.Containers {
		digests, holders := x.digestsOf(d.Containers[i].Image), 0
		for _, digest := range digests {
			holders = max(holders, x.hostCounts[digest]) // hosts may have several
		}
		if holders > 0 && holders < hosts {
			images = append(images, digests)
		}
	}
	return images
}

// digestsOf are what the name of an image means on the hosts, sorted.
func (x *imageIndex) digestsOf(image string) []string {
	name := x.fullName(image)
	if digests := x.digests[name]; digests != nil {
		return slices.Sorted(maps.Keys(digests))
	}
	if _, digest, is := strings.Cut(name, "@"); is {
		return []string{digest}
	}
	return nil
}

// wantedImages are images of a request, each as the digests that it may have.
type wantedImages [][]string

// missingOn is how many of them the host lacks.
func (w wantedImages) missingOn(h *Host) (missing int) {
	for _, digests := range w {
		if !slices.ContainsFunc(digests, func(digest string) bool { _, has := slices.BinarySearch(h.imageDigests, digest); return has }) {
			missing++
		}
	}
	return missing
}

// locateImages finds out which images of the request decide among the hosts now.
func (c *clusterHosts) locateImages(a *evaluation) {
	images := c.images.localImages(a.Definition, len(c.hosts))
	if !slices.EqualFunc(images, a.images, slices.Equal) {
		a.images, a.fingerprintText = images, ""
	}
}
