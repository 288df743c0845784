package issuer

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// ErrNoRights refuses a person whose groups give nothing, or nothing that one access key can have.
var ErrNoRights = errors.New("no rights")

// Conflict is an ErrNoRights of a person whose groups give what no one access key can have.
type Conflict struct {
	Groups []string // that give it: each of them alone does
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("%v: the groups %s give different roles, clusters or limits, and one access key cannot have them all: choose one with `pinion login --group NAME`", ErrNoRights, list(c.Groups))
}

// Unwrap makes errors.Is(err, ErrNoRights) true.
func (c *Conflict) Unwrap() error { return ErrNoRights }

// Rights returns the rights that the groups of a person give, and the groups that give them. A key has one role and one set of limits, so it cannot have all
// that groups of different roles, clusters and limits give together; and a highest role in all clusters would be more than any group gives.
// So there are three cases, and in each of them the key may do nothing that no group allows:
//
//   - One group gives everything that the others give: its rights.
//   - The groups differ in nothing but clusters, or in nothing but teams: the clusters, or the teams, of all of them.
//   - Any others: a Conflict. A person chooses among the groups (`pinion login --group`).
func (i *Issuer) Rights(groups []string) (accesskey.Rights, []string, error) {
	var mapped []Group
	for _, g := range i.Groups {
		if slices.Contains(groups, g.Name) {
			mapped = append(mapped, g)
		}
	}
	if len(mapped) == 0 {
		return accesskey.Rights{}, nil, fmt.Errorf("%w: the ID token has the groups %s in the claim %q, and these are mapped to rights: %s. An administrator maps one with `pinion oidc map`",
			ErrNoRights, list(groups), i.GroupsClaim, list(namesOf(i.Groups)))
	}
	if most := slices.IndexFunc(mapped, func(g Group) bool {
		return !slices.ContainsFunc(mapped, func(other Group) bool { return !g.Rights.Covers(other.Rights) })
	}); most >= 0 {
		return mapped[most].Rights, []string{mapped[most].Name}, nil
	}
	for _, merge := range []func(r *accesskey.Rights, with accesskey.Rights){
		func(r *accesskey.Rights, with accesskey.Rights) {
			r.Cluster = string(spec.NewClusterSet(slices.Concat(clustersOf(*r), clustersOf(with))))
		},
		func(r *accesskey.Rights, with accesskey.Rights) {
			r.Grant.Teams = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Grant.Teams, with.Grant.Teams))))
		},
	} {
		if sum, equal := union(mapped, merge); equal {
			return sum, namesOf(mapped), nil
		}
	}
	return accesskey.Rights{}, nil, &Conflict{namesOf(mapped)}
}

// union merges the rights of groups in one respect. It is their union only when they are equal in every other.
func union(groups []Group, merge func(r *accesskey.Rights, with accesskey.Rights)) (sum accesskey.Rights, equal bool) {
	sum = groups[0].Rights
	for _, g := range groups[1:] {
		merge(&sum, g.Rights)
	}
	for _, g := range groups {
		own := g.Rights
		merge(&own, sum)
		if !reflect.DeepEqual(own, sum) {
			return accesskey.Rights{}, false
		}
	}
	return sum, true
}

func clustersOf(r accesskey.Rights) []string {
	return slices.Collect(spec.ClusterSet(r.Cluster).Names())
}

func namesOf(groups []Group) []string {
	names := make([]string, len(groups))
	for n, g := range groups {
		names[n] = g.Name
	}
	return names
}

// listed bounds the names in a message.
const listed = 20

func list(names []string) string {
	if len(names) == 0 {
		return "(none)"
	}
	shown := make([]string, 0, listed)
	for _, name := range names[:min(len(names), listed)] {
		shown = append(shown, fmt.Sprintf("%.100q", name))
	}
	if len(names) > listed {
		shown = append(shown, fmt.Sprintf("and %d more", len(names)-listed))
	}
	return strings.Join(shown, ", ")
}
