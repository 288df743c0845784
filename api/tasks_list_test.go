package api

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pinion/api/client"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

// What lists show of a task is what DescribeTasks shows of it.
func TestListedTasksAreThoseOfDescribeTasks(t *testing.T) {
	b := newFixture(t)
	b.recordTasks(t, 11_000)
	var listed []client.Task
	for after := ""; ; {
		var page struct {
			Tasks []client.Task `json:"tasks"`
			Next  string        `json:"next"`
		}
		answer := b.get("/v1/tasks?after=" + after)
		if err := json.Unmarshal(answer.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		listed = append(listed, page.Tasks...)
		if linked := strings.Contains(answer.Header().Get("Link"), "after="+page.Next+`>; rel="next"`); linked != (page.Next != "") {
			t.Fatalf("the header says %q, the page %q", answer.Header().Get("Link"), page.Next)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if len(listed) != 11_000 || !slices.IsSortedFunc(listed, func(a, b client.Task) int { return strings.Compare(a.ARN, b.ARN) }) {
		t.Fatalf("%d tasks", len(listed))
	}
	var described struct{ Tasks []client.Task }
	one := listed[10_500]
	if err := json.Unmarshal(b.must(t, "DescribeTasks", `{"tasks":["`+one.ID()+`"]}`).Body.Bytes(), &described); err != nil {
		t.Fatal(err)
	}
	full := described.Tasks[0]
	if full.ARN != one.ARN || full.Definition != one.Definition || full.Instance != one.Instance || full.Status != one.Status || !full.CreatedAt.Equal(one.CreatedAt.Time) || len(one.Containers) != len(full.Containers) {
		t.Errorf("listed as %+v, described as %+v", one, full)
	}
}

func TestTasksOfAClusterAreForItsKeys(t *testing.T) {
	b := newFixture(t)
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	b.recordTasks(t, 1000)
	b.get("/v1/tasks?cluster=none").wantError(t, 400, "ClusterNotFoundException", "Cluster not found.")
	for path, want := range map[string]string{
		"/v1/tasks":                 `{"tasks":[]}`, // of the key's own cluster
		"/v1/tasks?cluster=lab":     `{"tasks":[]}`,
		"/v1/tasks?cluster=default": wire.AccessDenied,
	} {
		if got := b.serveAs(t, accesskey.RoleRead, "lab", httptest.NewRequest("GET", path, nil)).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %.200s", path, got)
		}
	}
}
