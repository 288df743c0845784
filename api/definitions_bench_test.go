package api

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// BenchmarkListDefinitions lists a page of 100,000 revisions of 1,000 families, in the middle, and a page of the families, over
// HTTP; a page of an empty list is what the request itself costs.
func BenchmarkListDefinitions(b *testing.B) {
	f := newFixture(b)
	for n := range 100_000 {
		f.mustApply(b, raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{
			Family: fmt.Sprintf("family-%03d", n%1000), Containers: []spec.ContainerDefinition{{Name: "c", Image: "i", Memory: 64}},
		}})
	}
	server := httptest.NewServer(NewHandler(f.config))
	defer server.Close()
	var last struct {
		Revisions []string `json:"taskDefinitionArns"`
		Families  []string `json:"families"`
		Next      string   `json:"nextToken"`
	}
	timed := func(operation string, in map[string]any, want int) float64 {
		started := time.Now()
		last.Revisions, last.Families = nil, nil
		postJSON(b, server.URL+"/v1/"+operation, in, &last)
		if got := len(last.Revisions) + len(last.Families); got != want {
			b.Fatalf("%s: %d items, and not %d", operation, got, want)
		}
		return time.Since(started).Seconds()
	}
	timed("ListTaskDefinitions", map[string]any{}, 100)
	middle := last.Next
	var revisions, families, empty float64
	for b.Loop() {
		revisions += timed("ListTaskDefinitions", map[string]any{"nextToken": middle}, 100)
		families += timed("ListTaskDefinitionFamilies", map[string]any{}, 100)
		empty += timed("ListTaskDefinitions", map[string]any{"familyPrefix": "none"}, 0)
	}
	b.ReportMetric(revisions/float64(b.N), "revisions-sec")
	b.ReportMetric(families/float64(b.N), "families-sec")
	b.ReportMetric(empty/float64(b.N), "empty-sec")
}
