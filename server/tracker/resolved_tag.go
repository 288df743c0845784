package tracker

import (
	"time"

	"pinion/raftfsm/blob"
)

// resolvedTag is what a tag meant last, as the other hosts of the host's cluster were told by their registries. No other cluster has a say in it: its hosts
// are not those that this one trusts with its tasks.
func (t *Tracker) resolvedTag(host string, now time.Time, tag string) (last *blob.ResolvedTag) {
	cluster := t.config.Cluster(host)
	if cluster == nil {
		return nil
	}
	for id, h := range t.hosts {
		if id == host || h.images == nil {
			continue
		}
		if other := t.config.Cluster(id); other == nil || other.Name != cluster.Name {
			continue
		}
		for _, i := range h.images.List {
			at := min(i.Resolved, now.Unix()) // a clock that is ahead counts for no more than the others
			if i.Name != tag || at <= 0 {
				continue
			}
			if last == nil || at > last.At || at == last.At && i.Digest > last.Digest {
				last = &blob.ResolvedTag{Digest: i.Digest, At: at, Use: cluster.TagsWithoutRegistry()}
			}
		}
	}
	return last
}
