package ecs

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

// listTaskDefinitions takes familyPrefix for a whole family, as ECS does in spite of the name.
func listTaskDefinitions(_ context.Context, r *Request, in *types.ListTaskDefinitionsInput) (*types.ListTaskDefinitionsOutput, error) {
	if err := field.OneOf("status", in.Status, types.TaskDefinitionStatuses...); err != nil {
		return nil, err
	}
	if err := field.OneOf("sort", in.Sort, types.SortOrders...); err != nil {
		return nil, err
	}
	status := spec.DefinitionActive
	if in.Status != "" {
		status = spec.DefinitionStatus(in.Status)
	}
	page, next, err := paging.CutFrom(in.Paging, func(last string) iter.Seq[*spec.TaskDefinition] {
		return definitionsAfter(r, status, in.FamilyPrefix, last, in.Sort == "DESC")
	}, paging.All, definitionSortKey)
	if err != nil {
		return nil, err
	}
	out := &types.ListTaskDefinitionsOutput{TaskDefinitionARNs: []string{}, NextToken: next}
	for _, d := range page {
		out.TaskDefinitionARNs = append(out.TaskDefinitionARNs, r.Render().DefinitionARN(d.Name()))
	}
	return out, nil
}

// definitionsAfter visits the revisions of a page that follows the one ending with last: of one family, of all when it is empty.
func definitionsAfter(r *Request, status spec.DefinitionStatus, family, last string, descending bool) iter.Seq[*spec.TaskDefinition] {
	from, revision := family, 0
	switch {
	case last != "":
		from, revision = parseDefinitionSortKey(last)
	case descending:
		from, revision = cmp.Or(family, afterAllFamilies), math.MaxInt
	}
	return func(yield func(*spec.TaskDefinition) bool) {
		for d := range r.View.DefinitionsFrom(status, from, revision, descending) {
			if family != "" && d.Family != family {
				return
			}
			if definitionSortKey(d) != last && !spec.IsOfDaemons(d.Family) && r.KeyClusters.MayUse(r.View, d) && !yield(d) {
				return
			}
		}
	}
}

// afterAllFamilies sorts after every name of a family.
const afterAllFamilies = "\xff\xff\xff\xff\xff\xff\xff\xff\xff"

// definitionSortKey identifies a revision in a token of the next page.
func definitionSortKey(d *spec.TaskDefinition) string {
	return fmt.Sprintf("%s\x00%010d", d.Family, d.Revision)
}

// parseDefinitionSortKey reads a key of definitionSortKey. Of any other text it makes a family without that revision, so that the page
// begins after it.
func parseDefinitionSortKey(key string) (family string, revision int) {
	family, number, _ := strings.Cut(key, "\x00")
	revision, _ = strconv.Atoi(number)
	return family, revision
}

// listTaskDefinitionFamilies lists ACTIVE families (an ACTIVE revision exists), INACTIVE ones (none does), or both.
func listTaskDefinitionFamilies(_ context.Context, r *Request, in *types.ListTaskDefinitionFamiliesInput) (*types.ListTaskDefinitionFamiliesOutput, error) {
	if err := field.OneOf("status", in.Status, types.TaskDefinitionFamilyStatuses...); err != nil {
		return nil, err
	}
	page, next, err := paging.CutFrom(in.Paging, func(last string) iter.Seq[string] {
		return familiesAfter(r, in.FamilyPrefix, last, in.Status)
	}, paging.All, func(family string) string { return family })
	if err != nil {
		return nil, err
	}
	return &types.ListTaskDefinitionFamiliesOutput{Families: page, NextToken: next}, nil
}

// familiesAfter visits the families with that prefix and status which come after last.
func familiesAfter(r *Request, prefix, last, status string) iter.Seq[string] {
	return func(yield func(string) bool) {
		family, revision := max(prefix, last), 0
		if last >= prefix && last != "" {
			revision = math.MaxInt
		}
		for {
			var next *spec.TaskDefinition
			for next = range r.View.DefinitionsFrom("", family, revision, false) {
				break
			}
			if next == nil || !strings.HasPrefix(next.Family, prefix) {
				return
			}
			family, revision = next.Family, math.MaxInt
			known, active := familyStatus(r, family)
			if known && !spec.IsOfDaemons(family) && (status == "" || status == "ALL" || (status == "ACTIVE") == active) && !yield(family) {
				return
			}
		}
	}
}

// familyStatus reports whether the caller may use a revision of the family, and whether an ACTIVE one.
func familyStatus(r *Request, family string) (known, active bool) {
	owners, _ := r.View.FamilyClusters(family)
	if r.KeyClusters == "" || r.KeyClusters.Set().Intersects(owners) {
		return true, r.View.Definition(family) != nil
	}
	for _, d := range r.View.Definitions(family) {
		if r.KeyClusters.MayUse(r.View, d) {
			known, active = true, active || d.Status == spec.DefinitionActive
		}
	}
	return known, active
}
