package ecs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pinion/api/ecs/field"
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
	matching := slices.DeleteFunc(slices.Clone(r.View.Definitions(in.FamilyPrefix)), func(d *spec.TaskDefinition) bool {
		return d.Status != status || (in.FamilyPrefix != "" && d.Family != in.FamilyPrefix) || !r.Scope.MayUse(r.View, d)
	})
	slices.SortFunc(matching, func(a, b *spec.TaskDefinition) int {
		return strings.Compare(definitionSortKey(a), definitionSortKey(b))
	})
	descending := in.Sort == "DESC"
	if descending {
		slices.Reverse(matching)
	}
	page, next, err := paginate(in.Paging, matching, descending, definitionSortKey)
	if err != nil {
		return nil, err
	}
	out := &types.ListTaskDefinitionsOutput{TaskDefinitionARNs: []string{}, NextToken: next}
	for _, d := range page {
		out.TaskDefinitionARNs = append(out.TaskDefinitionARNs, r.render().DefinitionARN(d.Name()))
	}
	return out, nil
}

// definitionSortKey orders by family, then by revision as a number. The separator sorts before all that names may hold, so
// that "app" comes before "app-1".
func definitionSortKey(d *spec.TaskDefinition) string {
	return fmt.Sprintf("%s\x00%010d", d.Family, d.Revision)
}

// listTaskDefinitionFamilies lists ACTIVE families (an ACTIVE revision exists), INACTIVE ones (none does), or both.
func listTaskDefinitionFamilies(_ context.Context, r *Request, in *types.ListTaskDefinitionFamiliesInput) (*types.ListTaskDefinitionFamiliesOutput, error) {
	if err := field.OneOf("status", in.Status, types.TaskDefinitionFamilyStatuses...); err != nil {
		return nil, err
	}
	active := map[string]bool{}
	for _, d := range r.View.Definitions("") {
		if strings.HasPrefix(d.Family, in.FamilyPrefix) && r.Scope.MayUse(r.View, d) {
			active[d.Family] = active[d.Family] || d.Status == spec.DefinitionActive
		}
	}
	families := []string{}
	for family, isActive := range active {
		if in.Status == "" || in.Status == "ALL" || (in.Status == "ACTIVE") == isActive {
			families = append(families, family)
		}
	}
	slices.Sort(families)
	page, next, err := paginate(in.Paging, families, false, func(family string) string { return family })
	if err != nil {
		return nil, err
	}
	return &types.ListTaskDefinitionFamiliesOutput{Families: page, NextToken: next}, nil
}
