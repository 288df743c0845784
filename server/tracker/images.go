package tracker

import (
	"cmp"
	"slices"
	"time"

	"pinion/raftfsm/blob"
)

// Images lists the images that hosts have said they have, by name and digest. It takes their word for it: what they give is checked
// against its digest.
func (t *Tracker) Images(now time.Time) []blob.HeldImage {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(now)
	type key struct{ name, digest string }
	found := map[key]*blob.HeldImage{}
	for id, h := range t.hosts {
		if h.images == nil {
			continue
		}
		for _, i := range h.images.List {
			k := key{i.Name, i.Digest}
			if found[k] == nil {
				found[k] = &blob.HeldImage{Image: i}
			}
			found[k].Size, found[k].Resolved = max(found[k].Size, i.Size), max(found[k].Resolved, i.Resolved)
			found[k].Hosts = append(found[k].Hosts, id)
		}
	}
	all := make([]blob.HeldImage, 0, len(found))
	for _, i := range found {
		slices.Sort(i.Hosts)
		i.Hosts = slices.Compact(i.Hosts)
		all = append(all, *i)
	}
	slices.SortFunc(all, func(a, b blob.HeldImage) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Digest, b.Digest))
	})
	return all
}

// ImagesOf are the images that a host has said it has, the same list until it says otherwise; nil when it has said nothing lately. Nobody
// changes it.
func (t *Tracker) ImagesOf(host string) *blob.Images {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h := t.hosts[host]; h != nil {
		return h.images
	}
	return nil
}

func validImages(images []blob.Image) (valid []blob.Image) {
	for _, i := range images[:min(len(images), blob.MaxImages)] {
		if i.Valid() {
			valid = append(valid, i)
		}
	}
	return valid
}
