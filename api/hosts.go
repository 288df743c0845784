package api

import (
	"cmp"
	"net/http"

	"pinion/raftfsm/spec"
)

// hostView is a host as GET /v1/hosts shows it: what it says of itself, and what the cluster knows beside that.
type hostView struct {
	*spec.Host
	Connected bool     `json:"connected"` // heard of lately
	Free      freeView `json:"free"`
	Used      usedView `json:"used"`
	Tasks     int      `json:"tasks"`          // that are not STOPPED
	Role      string   `json:"role,omitempty"` // "leader", "server", "joining" or "agent"
}

// freeView is what a host has left to give away.
type freeView struct {
	CPU       int64    `json:"cpu"`
	MemoryMiB int64    `json:"memoryMiB"`
	GPUs      []string `json:"gpus"` // UUIDs
}

// usedView is what tasks have of a host.
type usedView struct {
	GPUs []string `json:"gpus"` // UUIDs
}

// hosts lists the hosts of every cluster, or of ?cluster=NAME.
func (d *door) hosts(w http.ResponseWriter, r *http.Request, who caller, _ []byte) error {
	cluster, err := who.clusterOf(r)
	if err != nil {
		return err
	}
	roles, err := d.roles(r)
	if err != nil {
		return err
	}
	views := []hostView{}
	for _, host := range who.view.Hosts(cluster) {
		free := who.view.Free(host.ID)
		view := hostView{Host: host, Connected: d.Store.Connected(host.ID), Role: roles[host.ID]}
		view.Free = freeView{CPU: free.CPU, MemoryMiB: free.MemoryMiB, GPUs: append([]string{}, free.GPUs...)}
		view.Used.GPUs = []string{}
		for _, task := range who.view.TasksOn(host.ID) {
			if task.LastStatus != spec.Stopped {
				view.Tasks++
				view.Used.GPUs = append(view.Used.GPUs, task.GPUs()...)
			}
		}
		views = append(views, view)
	}
	d.reply(w, r, typeJSON, http.StatusOK, views)
	return nil
}

// clusterOf is the cluster that a request is about, empty for all: ?cluster=NAME, or the one that the caller's key is for.
func (c caller) clusterOf(r *http.Request) (string, error) {
	named := cmp.Or(r.URL.Query().Get("cluster"), string(c.bound))
	return named, c.bound.Check(c.principal, named)
}

// roles are left out where nobody knows them: on a host that is alone, and in stale answers.
func (d *door) roles(r *http.Request) (map[string]string, error) {
	if d.Admin.Hosts == nil || staleRequested(r) {
		return nil, nil
	}
	return d.Admin.Hosts.Roles(r.Context())
}
