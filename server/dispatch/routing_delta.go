package dispatch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"pinion/raftfsm/tasknetwork"
	"pinion/raftfsm/traffic"
)

// The Routing goes over the wire as deltas, as assignments do: a host names the listeners and groups that it knows, each with a digest, and gets
// those that are others. So any server can tell the difference and remembers nothing of the host.

// routingDelta is a change of the Routing.
type routingDelta struct {
	Listeners []traffic.Listener  `json:"listeners,omitempty"` // new ones, and in place of those with the same id
	Groups    []traffic.Group     `json:"groups,omitempty"`    // likewise
	Networks  []tasknetwork.Route `json:"networks,omitempty"`  // likewise
	Removed   []string            `json:"removed,omitempty"`   // parts that are gone, as knownRouting names them
}

// knownRouting is the digest of each part that a host knows: of "listener/ID", "group/ID" and "network/HOSTID". Nil is a host that takes no Routing.
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
	for i := range r.TaskNetworks {
		digests[networkPart(r.TaskNetworks[i])] = digestOf(r.TaskNetworks[i])
	}
	return digests
}

func listenerPart(l traffic.Listener) string { return "listener/" + l.ID }
func groupPart(g traffic.Group) string       { return "group/" + g.ID }
func networkPart(n tasknetwork.Route) string { return "network/" + n.HostID }

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
	for _, n := range r.TaskNetworks {
		if part := networkPart(n); known[part] != r.digests[part] {
			delta.Networks = append(delta.Networks, n)
		}
	}
	for part := range known {
		if _, has := r.digests[part]; !has {
			delta.Removed = append(delta.Removed, part)
		}
	}
	slices.Sort(delta.Removed)
	return delta, len(delta.Listeners)+len(delta.Groups)+len(delta.Networks)+len(delta.Removed) > 0
}

// apply is the Routing of a host that had before, after this step, its parts by id.
func (d routingDelta) apply(before traffic.Routing) (after traffic.Routing) {
	gone := map[string]bool{}
	for _, part := range d.Removed {
		gone[part] = true
	}
	after.Listeners = changedParts(before.Listeners, d.Listeners, gone, listenerPart)
	after.Groups = changedParts(before.Groups, d.Groups, gone, groupPart)
	after.TaskNetworks = changedParts(before.TaskNetworks, d.Networks, gone, networkPart)
	return after
}

// changedParts are the parts before without those that are gone, and with those that are new or changed, by their names.
func changedParts[T any](before, changed []T, gone map[string]bool, name func(T) string) (after []T) {
	for _, part := range changed {
		gone[name(part)] = true
	}
	for _, part := range before {
		if !gone[name(part)] {
			after = append(after, part)
		}
	}
	after = append(after, changed...)
	slices.SortFunc(after, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	return after
}
