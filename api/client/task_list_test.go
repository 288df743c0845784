package client

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The pages of a list are followed to the last one, whether a host names the next one in the header or in the page alone, and what was read
// before a page that does not come is kept.
func TestListedTasksAreOfAllPages(t *testing.T) {
	pages := map[string]string{"": "b", "b": "c", "c": ""}
	for name, c := range map[string]struct {
		link, broken bool
		want         []string
	}{
		"the header names the next page":   {true, false, []string{"task-", "task-b", "task-c"}},
		"the page alone does":              {false, false, []string{"task-", "task-b", "task-c"}},
		"a page is refused":                {true, true, []string{"task-", "task-b"}},
		"a page of an older one's refused": {false, true, []string{"task-", "task-b"}},
	} {
		host := serveHost(t, func(w http.ResponseWriter, r *http.Request) {
			after := r.URL.Query().Get("after")
			if r.URL.Path != tasksPath || r.URL.Query().Get("cluster") != "lab" || c.broken && after == "c" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			if next := pages[after]; c.link && next != "" {
				w.Header().Set("Link", "</v1/tasks?after="+next+`&cluster=lab>; rel="next"`)
			}
			fmt.Fprintf(w, `{"tasks":[{"taskArn":"task-%s"}],"next":%q}`, after, pages[after])
		})
		tasks, err := ListedTasks(t.Context(), newClient(t, host), "lab")
		var got []string
		for _, task := range tasks {
			got = append(got, task.ARN)
		}
		if !slices.Equal(got, c.want) || (err != nil) != c.broken {
			t.Errorf("%s: %s, %v", name, strings.Join(got, " "), err)
		}
	}
}
