package rest

import (
	"slices"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/filesystem"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/tasknetwork"
	"pinion/raftfsm/traffic"
	"pinion/raftfsm/virtualip"
	"pinion/raftfsm/volumeroot"
)

// hostView is a host: what it says of itself, and what the pool knows beside that.
type hostView struct {
	ID              string               `json:"id"`      // 32 hex digits, fixed for the life of the data directory
	Name            string               `json:"name"`    // host name, for people
	Cluster         string               `json:"cluster"` // name of the cluster whose tasks it runs
	Address         string               `json:"address"` // host:port that other hosts and clients reach
	Version         string               `json:"version"` // of pinion there
	Status          spec.HostStatus      `json:"status"`
	Attributes      map[string]string    `json:"attributes"` // ecs.* built-in, pinion.* Pinion's, and what `up --attribute` set
	CPU             int64                `json:"cpu"`        // CPU units for tasks, 1024 a core
	MemoryMiB       int64                `json:"memoryMiB"`  // memory for tasks
	Ports           []int                `json:"ports"`      // TCP ports that are never given to tasks
	GPUs            gpu.Inventory        `json:"gpus"`
	RegisteredAt    time.Time            `json:"registeredAt"`
	Revision        int64                `json:"revision"`               // +1 with each change
	FeatureLevel    int                  `json:"featureLevel,omitempty"` // of the version there
	Server          bool                 `json:"server,omitempty"`       // the pool wants it to be a server
	LostAt          time.Time            `json:"lostAt,omitzero"`        // when it was declared lost; absent while it is not
	Custom          map[string]string    `json:"custom,omitempty"`       // attributes of PutAttributes
	Tags            []spec.Tag           `json:"tags,omitempty"`
	HealthAt        time.Time            `json:"healthAt,omitzero"`         // when the health of its GPUs changed last
	Volumes         []volumeroot.Root    `json:"volumes,omitempty"`         // directories that tasks may mount
	FileSystems     []filesystem.Offer   `json:"fileSystems,omitempty"`     // network file systems that it mounts for tasks
	SharedVolumes   []string             `json:"sharedVolumes,omitempty"`   // names of the shared volumes that it has in its data directory
	Devices         []string             `json:"devices,omitempty"`         // devices that containers may have, and directories of them
	Buckets         []string             `json:"buckets,omitempty"`         // names of the buckets of environment files
	LogDestinations []string             `json:"logDestinations,omitempty"` // where it sends the logs of containers
	TaskNetwork     *tasknetwork.Network `json:"taskNetwork,omitempty"`     // of its tasks of networkMode awsvpc, with its subnet
	Allow           []string             `json:"allow,omitempty"`           // what containers may have beyond what every host gives

	ListenerProblems []traffic.ListenerProblem `json:"listenerProblems,omitempty"` // the listeners that its proxy does not serve, by port

	VirtualIPs []virtualIPView `json:"virtualIPs,omitempty"` // addresses that it offers to hold for the pool

	StopTasksAt time.Time `json:"stopTasksAt,omitzero"` // when its tasks are stopped, while it drains with that

	Connected bool     `json:"connected"`               // heard of lately
	ClockMS   int64    `json:"clockOffsetMs,omitempty"` // how much its clock is ahead of the leader's, negative when it is behind; absent when it is not off
	Free      freeView `json:"free"`
	Used      usedView `json:"used"`
	Tasks     int      `json:"tasks"`          // that are not STOPPED
	Role      string   `json:"role,omitempty"` // "leader", "server", "joining" or "agent"
}

// virtualIPView is an address that a host offers to hold for the pool.
type virtualIPView struct {
	iplease.Offer
	Held bool `json:"held"` // the pool has assigned it to this host
}

// freeView is the free capacity of a host.
type freeView struct {
	CPU       int64    `json:"cpu"`
	MemoryMiB int64    `json:"memoryMiB"`
	GPUs      []string `json:"gpus"` // UUIDs
}

// usedView is what tasks hold of a host.
type usedView struct {
	GPUs []string `json:"gpus"` // UUIDs
}

// listHosts lists the hosts of every cluster, or of ?cluster=NAME.
func (a *API) listHosts(x *httpx.Exchange, res leader.Resolution) error {
	cluster, err := res.Principal.ClusterOf(x.Request)
	if err != nil {
		return err
	}
	roles, err := a.roles(x)
	if err != nil {
		return err
	}
	selects, err := hostFilter(x)
	if err != nil {
		return err
	}
	views := []hostView{}
	for _, host := range res.View.Hosts(cluster) {
		if selects != nil && !selects.Match(query.HostFacts{Host: host, Connected: a.Store.Connected(host.ID), Tasks: res.View.TasksOn(host.ID)}) {
			continue
		}
		view := a.renderHost(res.View, host, roles[host.ID])
		if roles != nil {
			view.ClockMS = a.Admin.Hosts.ClockOffset(host.ID).Milliseconds()
		}
		views = append(views, view)
	}
	return reply(x, views)
}

// hostFilter is the expression that selects hosts; nil: all.
func hostFilter(x *httpx.Exchange) (*query.Expr, error) {
	text := x.Request.URL.Query().Get("filter")
	if text == "" {
		return nil, nil
	}
	parsed, err := query.Parse(text)
	if err != nil {
		return nil, wire.Errorf(wire.InvalidParameter, "filter: %v.", err)
	}
	return parsed, nil
}

func (a *API) renderHost(view *raftfsm.View, h *spec.Host, role string) hostView {
	free := view.Free(h.ID)
	out := hostView{
		ID: h.ID, Name: h.Name, Cluster: h.Cluster, Address: h.Address, Version: h.Version, Status: h.Status, Attributes: h.Attributes,
		CPU: h.CPU, MemoryMiB: h.MemoryMiB, Ports: h.Ports, GPUs: h.GPUs, RegisteredAt: h.RegisteredAt, Revision: h.Revision,
		FeatureLevel: h.FeatureLevel, Server: h.Server, LostAt: h.LostAt, Custom: h.CustomAttributes, Tags: h.Tags, HealthAt: h.HealthAt,
		Volumes: h.Volumes, FileSystems: h.FileSystems, SharedVolumes: h.SharedVolumes, Devices: h.Devices, Buckets: h.Buckets, LogDestinations: h.LogDestinations, TaskNetwork: h.TaskNetwork, Allow: h.Allow, ListenerProblems: h.ListenerProblems,
		Connected: a.Store.Connected(h.ID), Role: role,
		Free: freeView{CPU: free.CPU, MemoryMiB: free.MemoryMiB, GPUs: append([]string{}, free.GPUs...)},
		Used: usedView{GPUs: []string{}},
	}
	for _, v := range h.VirtualIPs {
		out.VirtualIPs = append(out.VirtualIPs, virtualIPView{v, virtualip.Holder(view, v.IP) == h.ID})
	}
	if h.Drain != nil {
		out.StopTasksAt = h.Drain.At
	}
	for _, task := range view.TasksOn(h.ID) {
		if task.LastStatus != spec.Stopped {
			out.Tasks++
			for _, uuid := range task.GPUs() {
				if !slices.Contains(out.Used.GPUs, uuid) { // tasks may share one
					out.Used.GPUs = append(out.Used.GPUs, uuid)
				}
			}
		}
	}
	return out
}

// roles are absent where nobody knows them: on a host that is alone, and in stale responses.
func (a *API) roles(x *httpx.Exchange) (map[string]string, error) {
	if a.Admin.Hosts == nil || leader.StaleRequested(x.Request) {
		return nil, nil
	}
	return a.Admin.Hosts.Roles(x.Context())
}
