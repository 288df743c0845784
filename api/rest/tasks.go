package rest

import (
	"cmp"

	"pinion/api/ecs/view"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// maxListedTasks bounds the tasks of a page: some 5 MB.
const maxListedTasks = 10_000

// tasksView is a page of the tasks of a cluster.
type tasksView struct {
	Tasks []view.ListedTask `json:"tasks"`          // those that stopped within the last hour included
	Next  string            `json:"next,omitempty"` // for ?after= of the next page; absent: there is none
}

// listTasks lists the tasks of a cluster.
func (a *API) listTasks(x *httpx.Exchange, res leader.Resolution) error {
	cluster, err := res.Principal.ClusterOf(x.Request)
	if err != nil {
		return err
	}
	cluster = cmp.Or(cluster, spec.DefaultCluster)
	if res.View.Cluster(cluster) == nil {
		return wire.Errorf("ClusterNotFoundException", "Cluster not found.")
	}
	renderer := &view.Renderer{Region: res.Principal.Region, View: res.View, Hosts: a.Store, Now: a.Now}
	page := tasksView{Tasks: []view.ListedTask{}}
	last := ""
	for task := range res.View.TasksAfter(cluster, x.Request.URL.Query().Get("after")) {
		if len(page.Tasks) == maxListedTasks {
			page.Next = last
			break
		}
		page.Tasks, last = append(page.Tasks, renderer.ListedTask(task)), task.ID
	}
	return reply(x, page)
}
