package image

import (
	"cmp"
	"errors"
	"slices"

	"pinion/raftfsm/query"
	"pinion/raftfsm/rendezvous"
	"pinion/raftfsm/spec"
)

// CheckHosts refuses an expression that cannot choose the hosts of an image: one that cannot be parsed (*query.Error), or that depends on
// the tasks of hosts, which come and go.
func CheckHosts(expression string) error {
	parsed, err := query.Parse(expression)
	if err == nil && parsed.ReadsTasks() {
		err = errors.New("the hosts of an image are chosen by what they are, not by their tasks: use attributes")
	}
	return err
}

// Keepers are the hosts that keep an image, of those that there are: all that its expression selects, or else Copies of those that are
// connected. Which these are changes as little as it can when hosts come and go (rendezvous hashing).
func (i *Image) Keepers(hosts []*spec.Host, connected func(id string) bool) (keepers []*spec.Host) {
	if i.Hosts != "" {
		selects, err := query.Parse(i.Hosts) // it was checked before it was recorded
		return slices.DeleteFunc(slices.Clone(hosts), func(h *spec.Host) bool {
			return err != nil || !selects.Match(query.HostFacts{Host: h, Connected: connected(h.ID)})
		})
	}
	keepers = slices.DeleteFunc(slices.Clone(hosts), func(h *spec.Host) bool { return !connected(h.ID) })
	slices.SortFunc(keepers, func(a, b *spec.Host) int {
		return cmp.Or(cmp.Compare(i.rank(b.ID), i.rank(a.ID)), cmp.Compare(a.ID, b.ID))
	})
	return keepers[:min(len(keepers), i.Copies)]
}

func (i *Image) rank(host string) uint64 { return rendezvous.Hash(i.Digest + " " + host) }
