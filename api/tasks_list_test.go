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

// A page of tasks looks at so many, whether they match or not: whoever asks for what is not there goes on by tokens, and finds all that is.
func TestAPageOfTasksLooksAtSoMany(t *testing.T) {
	b := newFixture(t)
	b.recordTasks(t, 11_000)
	for filter, want := range map[string]int{`"desiredStatus":"STOPPED"`: 0, `"family":"f"`: 11_000} {
		found, pages := 0, 0
		for token := ""; pages == 0 || token != ""; pages++ {
			var page struct {
				TaskARNs  []string `json:"taskArns"`
				NextToken string   `json:"nextToken"`
			}
			b.must(t, "ListTasks", `{`+filter+`,"nextToken":"`+token+`"}`).decode(t, &page)
			if found, token = found+len(page.TaskARNs), page.NextToken; pages == 0 && token == "" {
				t.Errorf("%s: one page has looked at all", filter)
			}
		}
		if found != want || want == 0 && pages > 4 {
			t.Errorf("%s: %d tasks on %d pages", filter, found, pages)
		}
	}
	team, after, pages := b.withKey(t, accesskey.Key{ID: "AKIATEAM", Role: accesskey.RoleRead, Grant: accesskey.Grant{Teams: []string{"none"}}}), "", 0
	for ; pages == 0 || after != ""; pages++ {
		var page struct {
			Tasks []client.Task `json:"tasks"`
			Next  string        `json:"next"`
		}
		b.as(team, httptest.NewRequest("GET", "/v1/tasks?after="+after, nil)).decode(t, &page)
		if after = page.Next; len(page.Tasks) > 0 {
			t.Errorf("a key for another team sees %d tasks", len(page.Tasks))
		}
	}
	if pages != 3 {
		t.Errorf("it has seen that on %d pages", pages)
	}
}
