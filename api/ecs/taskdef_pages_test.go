package ecs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pinion/api/auth"
	"pinion/api/ecs/types"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// newRevisions has revisions of families whose names are prefixes of one another, in every status, of clusters and of the pool.
func newRevisions(t testing.TB, seed uint64) *stateStore {
	s, random := newFamilies(t), rand.New(rand.NewPCG(seed, 0))
	propose := func(c raftfsm.Command) {
		if _, err := s.Propose(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for range random.IntN(60) {
		family := []string{"app", "app-1", "app1", "ap", "appendix-of-names-longer-than-eight", "appendix-of-names-longer", "mine", "common"}[random.IntN(8)]
		clusters := map[string]spec.ClusterSet{"app-1": "lab", "app1": "other", "mine": "lab"}[family]
		propose(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: family, Containers: []spec.ContainerDefinition{{Name: "c", Image: "i", Memory: 64}}}, Clusters: clusters})
	}
	for _, d := range s.state.View().Definitions("") {
		if ends := random.IntN(4); ends > 1 {
			propose(raftfsm.DeregisterDefinition{Name: d.Name(), At: epoch})
			if ends == 3 {
				propose(raftfsm.DeleteDefinitions{Names: []string{d.Name()}, At: epoch})
			}
		}
	}
	return s
}

// pages collects the items of all pages of a list operation.
func pages(t *testing.T, s *stateStore, operation, scope, parameters string, size int, items func(any) ([]string, string)) (all []string) {
	t.Helper()
	for token := ""; ; {
		body := fmt.Sprintf(`{%s"maxResults":%d}`, parameters, size)
		if token != "" {
			body = fmt.Sprintf(`{%s"maxResults":%d,"nextToken":%q}`, parameters, size, token)
		}
		out, err := s.call(t, Operations[operation], auth.KeyClusters(scope), body)
		if err != nil {
			t.Fatal(err)
		}
		var page []string
		if page, token = items(out); len(page) > size || len(page) < size && token != "" {
			t.Fatalf("a page of %d has %d items and the token %q", size, len(page), token)
		}
		if all = append(all, page...); token == "" {
			return all
		}
	}
}

func TestPagesOfDefinitionsAreWholeAndInOrder(t *testing.T) {
	for seed := range uint64(30) {
		s := newRevisions(t, seed)
		view := s.state.View()
		for _, scope := range []string{"", "lab", "other", "default"} {
			for _, family := range []string{"", "app", "app-1", "mine", "appendix-of-names-longer", "none"} {
				for _, status := range []spec.DefinitionStatus{spec.DefinitionActive, spec.DefinitionInactive, spec.DefinitionDeleting} {
					var want []string
					for _, d := range view.Definitions(family) { // by family and revision
						if d.Status == status && auth.KeyClusters(scope).MayUse(view, d) {
							want = append(want, d.Name())
						}
					}
					for _, sort := range []string{"ASC", "DESC"} {
						parameters := fmt.Sprintf(`"status":%q,"sort":%q,`, status, sort)
						if family != "" {
							parameters += fmt.Sprintf(`"familyPrefix":%q,`, family)
						}
						got := pages(t, s, "ListTaskDefinitions", scope, parameters, 1+int(seed)%5, func(out any) (names []string, token string) {
							list := out.(*types.ListTaskDefinitionsOutput)
							for _, arn := range list.TaskDefinitionARNs {
								names = append(names, arn[strings.LastIndex(arn, "/")+1:])
							}
							return names, list.NextToken
						})
						if !slices.Equal(got, want) {
							t.Errorf("seed %d: a key for %q, %s: %v, want %v", seed, scope, parameters, got, want)
						}
						slices.Reverse(want)
					}
				}
			}
		}
	}
}

func TestPagesOfFamiliesAreWholeAndInOrder(t *testing.T) {
	for seed := range uint64(30) {
		s := newRevisions(t, seed)
		view := s.state.View()
		for _, scope := range []string{"", "lab", "other", "default"} {
			for _, prefix := range []string{"", "a", "app", "appendix-of-names-longer", "mine", "none"} {
				active := map[string]bool{}
				for _, d := range view.Definitions("") {
					if strings.HasPrefix(d.Family, prefix) && auth.KeyClusters(scope).MayUse(view, d) {
						active[d.Family] = active[d.Family] || d.Status == spec.DefinitionActive
					}
				}
				for _, status := range []string{"", "ALL", "ACTIVE", "INACTIVE"} {
					var want []string
					for family, isActive := range active {
						if status == "" || status == "ALL" || (status == "ACTIVE") == isActive {
							want = append(want, family)
						}
					}
					slices.Sort(want)
					parameters := ""
					if prefix != "" {
						parameters += fmt.Sprintf(`"familyPrefix":%q,`, prefix)
					}
					if status != "" {
						parameters += fmt.Sprintf(`"status":%q,`, status)
					}
					got := pages(t, s, "ListTaskDefinitionFamilies", scope, parameters, 1+int(seed)%5, func(out any) ([]string, string) {
						list := out.(*types.ListTaskDefinitionFamiliesOutput)
						return list.Families, list.NextToken
					})
					if !slices.Equal(got, want) {
						t.Errorf("seed %d: a key for %q, %s: %v, want %v", seed, scope, parameters, got, want)
					}
				}
			}
		}
	}
}
