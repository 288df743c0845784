package client

import (
	"context"

	"pinion/raftfsm/spec"
)

// Host is what the plain door tells of a host.
type Host struct {
	spec.Host
	Connected bool   `json:"connected"` // heard of lately
	Free      Free   `json:"free"`
	Used      Used   `json:"used"`
	Tasks     int    `json:"tasks"` // tasks there that are not STOPPED
	Role      string `json:"role"`  // "leader", "server", "joining" or "agent"; empty when unknown
}

// Used is what tasks have of a host.
type Used struct {
	GPUs []string `json:"gpus"` // UUIDs
}

// Free is what a host can still give to tasks.
type Free struct {
	CPU       int64    `json:"cpu"` // units, 1024 a core
	MemoryMiB int64    `json:"memoryMiB"`
	GPUs      []string `json:"gpus"` // UUIDs
}

// GPU is one GPU of a cluster and who has it: what the command line reads of a device of package gpu, and more.
type GPU struct {
	Host      string `json:"host"`   // name of its host
	HostID    string `json:"hostId"` // 32 hex digits
	UUID      string `json:"uuid"`
	Index     int    `json:"index"`
	PCI       string `json:"pci"`
	Model     string `json:"model"`
	MemoryMiB int64  `json:"memoryMiB"` // 0 when it has no memory of its own to report
	NUMANode  int    `json:"numaNode"`  // -1 when unknown
	Health    string `json:"health"`
	Problem   string `json:"problem"` // why it is not healthy
	Simulated bool   `json:"simulated"`
	Task      string `json:"task"`      // id of the task that owns it, empty when it is free
	Container string `json:"container"` // name of the container that owns it
}

// Free reports whether a new task can get the GPU.
func (g *GPU) Free() bool { return g.Task == "" && g.Health == "HEALTHY" }

// Hosts lists the hosts of all clusters.
func (c *Client) Hosts(ctx context.Context) ([]Host, error) {
	var hosts []Host
	return hosts, c.Get(ctx, "/v1/hosts", nil, &hosts)
}

// GPUs lists the GPUs of all hosts, by host and index.
func (c *Client) GPUs(ctx context.Context) ([]GPU, error) {
	var gpus []GPU
	return gpus, c.Get(ctx, "/v1/gpus", nil, &gpus)
}
