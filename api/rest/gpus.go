package rest

import (
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// gpuView is a GPU, where it is and the container that owns it. Members are in the order of their names.
type gpuView struct {
	ComputeCapability string `json:"computeCapability,omitempty"` // CUDA's, "9.0"

	Container  string     `json:"container,omitempty"`  // that owns it
	Definition string     `json:"definition,omitempty"` // of its task, family:revision
	Health     gpu.Health `json:"health"`
	Host       string     `json:"host"` // name
	HostID     string     `json:"hostId"`
	Index      int        `json:"index"`           // NVML enumeration order, from 0; of a MIG device that of its GPU
	Links      []linkView `json:"links,omitempty"` // to its peers on the host
	MemoryMiB  int64      `json:"memoryMiB,omitempty"`
	MIGDevice  *migView   `json:"migDevice,omitempty"` // absent of a whole GPU
	Minor      int        `json:"minor"`               // N of /dev/nvidiaN
	Model      string     `json:"model"`
	NUMANode   int        `json:"numaNode"`            // -1 when unknown
	Partition  string     `json:"partition,omitempty"` // what its GPU is going to be: it goes, and gets no tasks
	PCI        string     `json:"pci"`                 // domain:bus:device.function
	Problem    string     `json:"problem,omitempty"`   // why it is not healthy, for people
	Shares     []gpuShare `json:"shares,omitempty"`    // of a GPU that containers share, in place of the members of its owner
	Simulated  bool       `json:"simulated"`
	Task       string     `json:"task,omitempty"` // whose container owns it
	Team       string     `json:"team,omitempty"` // of the task
	UUID       string     `json:"uuid"`
}

// gpuShare is the share of a container. Of other teams' tasks it says no more than the id and the memory.
type gpuShare struct {
	ComputePercent int64  `json:"computePercent,omitempty"` // absent: no limit
	Container      string `json:"container,omitempty"`
	Definition     string `json:"definition,omitempty"` // of its task, family:revision
	MemoryMiB      int64  `json:"memoryMiB"`
	Task           string `json:"task"`
	Team           string `json:"team,omitempty"` // of the task
}

// linkView is how a GPU reaches a peer.
type linkView struct {
	Kind  gpu.LinkKind `json:"kind"`
	Lanes int          `json:"lanes,omitempty"` // of NVLink
	Peer  string       `json:"peer"`            // UUID
}

// migView is what a MIG device is of its GPU.
type migView struct {
	Index   int    `json:"index"`   // among the MIG devices of the GPU, from 0
	Parent  string `json:"parent"`  // UUID of the GPU
	Profile string `json:"profile"` // "1g.10gb"
}

// listGPUs lists every GPU of every cluster, or of ?cluster=NAME.
func (a *API) listGPUs(x *httpx.Exchange, res leader.Resolution) error {
	cluster, err := res.Principal.ClusterOf(x.Request)
	if err != nil {
		return err
	}
	views := []gpuView{}
	for _, host := range res.View.Hosts(cluster) {
		owners := gpuOwners(res.View, host.ID)
		for i := range host.GPUs.Devices {
			view := renderGPU(host, &host.GPUs.Devices[i])
			for _, owner := range owners[view.UUID] {
				owner.render(&view, res.Principal.Grant.SeesTeam(owner.team))
			}
			views = append(views, view)
		}
	}
	return reply(x, views)
}

func renderGPU(host *spec.Host, d *gpu.Device) gpuView {
	view := gpuView{
		UUID: d.UUID, Index: d.Index, Minor: d.Minor, PCI: d.PCI, Model: d.Model, MemoryMiB: d.MemoryMiB, ComputeCapability: d.ComputeCapability, NUMANode: d.NUMANode,
		Health: d.Health, Problem: d.Problem, Host: host.Name, HostID: host.ID, Simulated: host.GPUs.Simulated,
	}
	for link := range d.Links.All() {
		view.Links = append(view.Links, linkView{Kind: link.Kind, Lanes: link.Lanes, Peer: link.Peer})
	}
	if host.Partitions.Removes(d) {
		view.Partition = host.Partitions.OfDevice(d).Layout.String()
	}
	if mig := d.MIGDevice; mig != nil {
		view.MIGDevice = &migView{Index: mig.Index, Parent: mig.Parent, Profile: mig.Profile}
	}
	return view
}

// gpuOwner is a container that has a GPU, or a share of it.
type gpuOwner struct {
	task      *spec.Task
	container *spec.Container
	team      string
}

// render says whose the GPU is, or that the owner has a share; with all of it to those who see its team.
func (o *gpuOwner) render(view *gpuView, seen bool) {
	if o.container.Share == nil {
		view.Task = o.task.ID
		if seen {
			view.Container, view.Definition, view.Team = o.container.Name, o.task.Definition, o.team
		}
		return
	}
	share := gpuShare{Task: o.task.ID, MemoryMiB: o.container.Share.MemoryMiB, ComputePercent: o.container.Share.ComputePercent}
	if seen {
		share.Container, share.Definition, share.Team = o.container.Name, o.task.Definition, o.team
	}
	view.Shares = append(view.Shares, share)
}

// gpuOwners maps the UUIDs of a host's GPUs to the containers that have them.
func gpuOwners(view *raftfsm.View, hostID string) map[string][]gpuOwner {
	owners := map[string][]gpuOwner{}
	for _, task := range view.TasksOn(hostID) {
		if task.LastStatus == spec.Stopped {
			continue
		}
		team := task.SchedulingOptions().Team
		for i := range task.Containers {
			for _, uuid := range task.Containers[i].GPUs {
				owners[uuid] = append(owners[uuid], gpuOwner{task, &task.Containers[i], team})
			}
		}
	}
	return owners
}
