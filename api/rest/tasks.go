package rest

import (
	"cmp"
	"net/http"
	"reflect"
	"time"

	"pinion/api/ecs/view"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// maxListedTasks bounds the tasks of a page: some 1 MB. A client asks for the next page while it reads one, so that neither waits for the
// whole list of the other.
const maxListedTasks = 2_000

// maxVisitedTasks bounds the tasks that are looked at for a page, those that the caller does not see too: a page may have none, and another one after it.
const maxVisitedTasks = 5_000

// tasksView is a page of the tasks of a cluster.
type tasksView struct {
	Tasks []view.ListedTask `json:"tasks"`          // those that stopped within the last hour included
	Next  string            `json:"next,omitempty"` // for ?after= of the next page; absent: there is none
}

// taskList serves the list of tasks.
type taskList struct {
	store Store
	now   func() time.Time
}

func (l taskList) routes() []Route {
	return []Route{{Method: http.MethodGet, Path: "/v1/tasks", Role: accesskey.RoleRead, Scope: inCluster,
		Summary: "the tasks of a cluster, by their ids, with what lists show of each; DescribeTasks has the rest",
		Query:   []Parameter{{"cluster", "of this cluster, by name; absent: default"}, {"after", "next of the page before"}, staleParameter},
		Out:     reflect.TypeFor[tasksView](), Mode: leader.StaleAllowed, List: true, Serve: l.list}}
}

// list lists the tasks of a cluster.
func (l taskList) list(x *httpx.Exchange, res leader.Resolution) error {
	cluster, err := res.Principal.ClusterOf(x.Request)
	if err != nil {
		return err
	}
	cluster = cmp.Or(cluster, spec.DefaultCluster)
	if res.View.Cluster(cluster) == nil {
		return wire.Errorf("ClusterNotFoundException", "Cluster not found.")
	}
	renderer := &view.Renderer{Region: res.Principal.Region, View: res.View, Hosts: l.store, Now: l.now}
	query := x.Request.URL.Query()
	page := tasksView{Tasks: []view.ListedTask{}}
	last, visited := "", 0
	for task := range res.View.TasksAfter(cluster, query.Get("after")) {
		if len(page.Tasks) == maxListedTasks || visited == maxVisitedTasks {
			page.Next = last
			query.Set("after", last)
			x.Header().Set("Link", "<"+x.Request.URL.Path+"?"+query.Encode()+`>; rel="next"`)
			break
		}
		if last, visited = task.ID, visited+1; res.Principal.SeesTask(task) {
			page.Tasks = append(page.Tasks, renderer.ListedTask(task))
		}
	}
	return reply(x, page)
}
