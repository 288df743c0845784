package ecs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pinion/raftfsm/spec"
)

type listDefinitionsInput struct {
	paging
	Family string `json:"familyPrefix"` // the whole family, in spite of its name
	Status string `json:"status"`
	Sort   string `json:"sort"`
}

type listDefinitionsOutput struct {
	ARNs      []string `json:"taskDefinitionArns"`
	NextToken string   `json:"nextToken,omitempty"`
}

func (c *Request) listTaskDefinitions(_ context.Context, in *listDefinitionsInput) (*listDefinitionsOutput, error) {
	if err := inEnum("status", in.Status, "ACTIVE", "INACTIVE", "DELETE_IN_PROGRESS"); err != nil {
		return nil, err
	}
	if err := inEnum("sort", in.Sort, "ASC", "DESC"); err != nil {
		return nil, err
	}
	status := spec.DefinitionActive
	if in.Status != "" {
		status = spec.DefinitionStatus(in.Status)
	}
	matching := slices.DeleteFunc(slices.Clone(c.View.Definitions(in.Family)), func(d *spec.TaskDefinition) bool {
		return d.Status != status || (in.Family != "" && d.Family != in.Family)
	})
	slices.SortFunc(matching, func(a, b *spec.TaskDefinition) int {
		return strings.Compare(definitionSortKey(a), definitionSortKey(b))
	})
	descending := in.Sort == "DESC"
	if descending {
		slices.Reverse(matching)
	}
	page, next, err := paginate(in.paging, matching, descending, definitionSortKey)
	if err != nil {
		return nil, err
	}
	out := &listDefinitionsOutput{ARNs: []string{}, NextToken: next}
	for _, d := range page {
		out.ARNs = append(out.ARNs, c.definitionARN(d.Name()))
	}
	return out, nil
}

// definitionSortKey orders by family, then by revision as a number. What parts them sorts before all that names may hold,
// so that "app" comes before "app-1".
func definitionSortKey(d *spec.TaskDefinition) string {
	return fmt.Sprintf("%s\x00%010d", d.Family, d.Revision)
}

type listFamiliesInput struct {
	paging
	Prefix string `json:"familyPrefix"`
	Status string `json:"status"`
}

type listFamiliesOutput struct {
	Families  []string `json:"families"`
	NextToken string   `json:"nextToken,omitempty"`
}

// listTaskDefinitionFamilies lists ACTIVE families (an ACTIVE revision exists), INACTIVE ones (none does), or both.
func (c *Request) listTaskDefinitionFamilies(_ context.Context, in *listFamiliesInput) (*listFamiliesOutput, error) {
	if err := inEnum("status", in.Status, "ACTIVE", "INACTIVE", "ALL"); err != nil {
		return nil, err
	}
	active := map[string]bool{}
	for _, d := range c.View.Definitions("") {
		if strings.HasPrefix(d.Family, in.Prefix) {
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
	page, next, err := paginate(in.paging, families, false, func(family string) string { return family })
	if err != nil {
		return nil, err
	}
	return &listFamiliesOutput{Families: page, NextToken: next}, nil
}
