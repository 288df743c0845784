// Package virtualip chooses the host that holds a virtual IP.
package virtualip

import (
	"cmp"
	"slices"
)

// Candidate is a host that offers a virtual IP and may hold it now.
type Candidate struct {
	HostID   string
	Problems int // listeners that its proxy does not serve
	Holds    int // virtual IPs beside this one
}

// Choose returns the id of the host that is to hold a virtual IP, empty when there is no candidate. Whoever serves most listeners may; the
// holder keeps the address while it is one of them, and of others the one with the fewest addresses comes first. The order of candidates does
// not matter.
func Choose(candidates []Candidate, holder string) string {
	if len(candidates) == 0 {
		return ""
	}
	return slices.MinFunc(candidates, func(a, b Candidate) int {
		return cmp.Or(
			cmp.Compare(a.Problems, b.Problems),
			last(a.HostID != holder, b.HostID != holder),
			cmp.Compare(a.Holds, b.Holds),
			cmp.Compare(a.HostID, b.HostID),
		)
	}).HostID
}

// last orders what is true behind what is not.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
