package autoscaling

import (
	"cmp"
	"encoding/base64"
	"slices"
	"sort"

	"pinion/raftfsm/scaling"
)

// maxListed is the most, and the usual number, of items in one answer.
const maxListed = 50

// paging are the members that every list has.
type paging struct {
	MaxResults *int   `json:"MaxResults"`
	NextToken  string `json:"NextToken"`
}

// span is a part of a list.
type span struct{ from, to int }

// cut is one page of n items that are sorted by key. A token names the last key of a page, so paging continues at the right place whatever was
// added or removed.
func (p paging) cut(n int, key func(i int) string) (page span, next string, err error) {
	size := maxListed
	if p.MaxResults != nil {
		if size = *p.MaxResults; size < 1 || size > maxListed {
			return span{}, "", errInvalid("MaxResults must be 1 to %d, not %d", maxListed, size)
		}
	}
	if p.NextToken != "" {
		seen, err := base64.RawURLEncoding.DecodeString(p.NextToken)
		if err != nil {
			return span{}, "", errInvalid("NextToken is not one that this operation gave out")
		}
		page.from = sort.Search(n, func(i int) bool { return key(i) > string(seen) })
	}
	if page.to = min(page.from+size, n); page.to < n {
		next = base64.RawURLEncoding.EncodeToString([]byte(key(page.to - 1)))
	}
	return page, next, nil
}

// targets are those that the caller may know of, by resource id; of some resources when ids are given.
func (r *Request) targets(ns, dim string, ids []string) ([]*scaling.Target, error) {
	if ns != namespace || dim != "" && dim != dimension {
		return nil, errInvalid("Unsupported service namespace, resource type or scalable dimension: Pinion scales services, with ServiceNamespace %s and ScalableDimension %s", namespace, dimension)
	}
	all := slices.DeleteFunc(scaling.All(r.View), func(t *scaling.Target) bool {
		s := r.View.ServiceByID(t.ServiceID)
		return s == nil || !r.Principal.SeesService(s) || len(ids) > 0 && !slices.Contains(ids, resourceID(t.Cluster, t.Service))
	})
	slices.SortFunc(all, func(a, b *scaling.Target) int {
		return cmp.Compare(resourceID(a.Cluster, a.Service), resourceID(b.Cluster, b.Service))
	})
	return all, nil
}

// describeInput is that of the lists of what targets have.
type describeInput struct {
	paging
	resource
}

// of are the targets that the input is about.
func (in *describeInput) of(r *Request) ([]*scaling.Target, error) {
	var ids []string
	if in.ResourceID != "" {
		ids = []string{in.ResourceID}
	}
	return r.targets(in.ServiceNamespace, in.ScalableDimension, ids)
}

// wanted reports whether a name is among those that are asked for, all when there are none.
func wanted(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }
