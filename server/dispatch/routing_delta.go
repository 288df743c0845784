package dispatch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"pinion/raftfsm/traffic"
)

// The Routing goes over the wire as deltas, as assignments do: a host names the listeners and groups that it knows, each with a digest, and gets
// those that are others. So any server can tell the difference and remembers nothing of the host.

// routingDelta is a change of the Routing.
type routingDelta struct {
	Listeners []traffic.Listener `json:"listeners,omitempty"` // new ones, and in place of those with the same id
	Groups    []traffic.Group    `json:"groups,omitempty"`    // likewise
	Removed   []string           `json:"removed,omitempty"`   // parts that are gone, as knownRouting names them
}

// knownRouting is the digest of each part that a host knows: of "listener/ID" and "group/ID". Nil is a host that takes no Routing.
type knownRouting map[string]string

// digestsOf are the digests of the parts of a Routing.
func digestsOf(r *traffic.Routing) knownRouting {
	digests := make(knownRouting, len(r.Listeners)+len(r.Groups))
	for i := range r.Listeners {
		digests[listenerPart(r.Listeners[i])] = digestOf(r.Listeners[i])
	}
	for i := range r.Groups {
		digests[groupPart(r.Groups[i])] = digestOf(r.Groups[i])
	}
	return digests
}

func listenerPart(l traffic.Listener) string { return "listener/" + l.ID }
func groupPart(g traffic.Group) string       { return "group/" + g.ID }

func digestOf(part any) string {
	text, err := json.Marshal(part)
	if err != nil {
		panic(err) // these types can be encoded, whatever they hold
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:10])
}

// diff is the delta from what a host knows; it is not needed when nothing differs.
func (known knownRouting) diff(r *versionedRouting) (delta routingDelta, needed bool) {
	for _, l := range r.Listeners {
		if part := listenerPart(l); known[part] != r.digests[part] {
			delta.Listeners = append(delta.Listeners, l)
		}
	}
	for _, g := range r.Groups {
		if part := groupPart(g); known[part] != r.digests[part] {
			delta.Groups = append(delta.Groups, g)
		}
	}
	for part := range known {
		if _, has := r.digests[part]; !has {
			delta.Removed = append(delta.Removed, part)
		}
	}
	slices.Sort(delta.Removed)
	return delta, len(delta.Listeners)+len(delta.Groups)+len(delta.Removed) > 0
}

// apply is the Routing of a host that had before, after this step, its parts by id.
func (d routingDelta) apply(before traffic.Routing) (after traffic.Routing) {
	gone := map[string]bool{}
	for _, part := range d.Removed {
		gone[part] = true
	}
	for _, l := range d.Listeners {
		gone[listenerPart(l)] = true
	}
	for _, g := range d.Groups {
		gone[groupPart(g)] = true
	}
	for _, l := range before.Listeners {
		if !gone[listenerPart(l)] {
			after.Listeners = append(after.Listeners, l)
		}
	}
	for _, g := range before.Groups {
		if !gone[groupPart(g)] {
			after.Groups = append(after.Groups, g)
		}
	}
	after.Listeners, after.Groups = append(after.Listeners, d.Listeners...), append(after.Groups, d.Groups...)
	slices.SortFunc(after.Listeners, func(a, b traffic.Listener) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(after.Groups, func(a, b traffic.Group) int { return cmp.Compare(a.ID, b.ID) })
	return after
}
