package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Host is a host of the pool: an ECS container instance.
type Host struct {
	ID           string            `json:"id"`   // 32 hex digits, the id of its container instance
	Name         string            `json:"name"` // host name, not unique
	Cluster      string            `json:"cluster"`
	Address      string            `json:"address"` // host:port of its TLS port
	Version      string            `json:"version"` // of Pinion there
	Status       string            `json:"status"`  // ACTIVE or DRAINING
	Attributes   map[string]string `json:"attributes"`
	CPU          int64             `json:"cpu"` // for tasks, in units, 1024 a core
	MemoryMiB    int64             `json:"memoryMiB"`
	GPUs         Inventory         `json:"gpus"`
	RegisteredAt time.Time         `json:"registeredAt"`
	StopTasksAt  time.Time         `json:"stopTasksAt"`   // when its tasks are stopped, while it drains with that; zero: they are not
	Connected    bool              `json:"connected"`     // false when its heartbeats are missing
	LostAt       time.Time         `json:"lostAt"`        // when it was given up and its tasks marked STOPPED; zero: it is not
	ClockMS      int64             `json:"clockOffsetMs"` // how much its clock is ahead of the leader's, negative when it is behind; 0: it is not off
	// ListenerProblems are the listeners of load balancers and services that its proxy does not serve, by port.
	ListenerProblems []ListenerProblem `json:"listenerProblems"`
	// VirtualIPs are the addresses that it offers to hold for the pool.
	VirtualIPs []VirtualIP `json:"virtualIPs"`
	Free       Free        `json:"free"`
	Used       Used        `json:"used"`
	Tasks      int         `json:"tasks"` // tasks there that are not STOPPED
	Role       string      `json:"role"`  // "leader", "server", "joining" or "agent"; empty when unknown
}

// ListenerProblem is a listener that a host does not serve. The host tries it again until it does.
type ListenerProblem struct {
	Listener string `json:"listener"` // its id
	Port     int    `json:"port"`
	Problem  string `json:"problem"`
}

// VirtualIP is an address that a host offers to hold for the pool. One of the hosts that offer it has it at a time.
type VirtualIP struct {
	IP      string `json:"ip"`
	Bits    int    `json:"bits"`    // of the network that it is in
	Device  string `json:"device"`  // that gets it; empty: the one in the network
	Held    bool   `json:"held"`    // the pool has assigned it to this host
	Problem string `json:"problem"` // why the host cannot hold it; empty: it can
}

// Inventory is the GPUs of a host.
type Inventory struct {
	Devices   []Device `json:"devices"`
	Driver    string   `json:"driver"` // version of the kernel driver
	CUDA      string   `json:"cuda"`   // highest CUDA version that the driver serves
	Simulated bool     `json:"simulated"`
	Problem   string   `json:"problem"` // why GPUs cannot be seen; empty when they can, or there are none
}

// Device is one GPU of an Inventory.
type Device struct {
	UUID      string `json:"uuid"`
	Index     int    `json:"index"`
	PCI       string `json:"pci"`
	Model     string `json:"model"`
	MemoryMiB int64  `json:"memoryMiB"` // 0 when it has no memory of its own to report
	NUMANode  int    `json:"numaNode"`  // -1 when unknown
	Health    string `json:"health"`    // Healthy, or another value when no new work is given to it
	Problem   string `json:"problem"`   // why it is not healthy

	MIGDevice *MIGDevice `json:"migDevice"` // nil of a whole GPU
}

// MIGDevice is what a MIG device is of its GPU.
type MIGDevice struct {
	Parent  string `json:"parent"`  // UUID of the GPU
	Index   int    `json:"index"`   // among the MIG devices of the GPU
	Profile string `json:"profile"` // "1g.10gb"
}

// Number names the device on its host, as NVIDIA does: "3", and "3:1" of a MIG device of GPU 3.
func (d *Device) Number() string {
	if d.MIGDevice == nil {
		return strconv.Itoa(d.Index)
	}
	return fmt.Sprintf("%d:%d", d.Index, d.MIGDevice.Index)
}

// MIGIndex is that of a MIG device, -1 of a whole GPU.
func (d *Device) MIGIndex() int {
	if d.MIGDevice == nil {
		return -1
	}
	return d.MIGDevice.Index
}

// Profile is that of a MIG device, "" of a whole GPU.
func (d *Device) Profile() string {
	if d.MIGDevice == nil {
		return ""
	}
	return d.MIGDevice.Profile
}

// Healths of a GPU; any but Healthy gets no new work.
const (
	Healthy     = "HEALTHY"
	Quarantined = "QUARANTINED" // an administrator keeps it from new work
)

// Free is the part of a host that new tasks can get.
type Free struct {
	CPU       int64    `json:"cpu"` // units, 1024 a core
	MemoryMiB int64    `json:"memoryMiB"`
	GPUs      []string `json:"gpus"` // UUIDs
}

// Used is the part of a host that tasks hold.
type Used struct {
	GPUs []string `json:"gpus"` // UUIDs
}

// GPU is a device with its host and the task that holds it.
type GPU struct {
	Device
	Host       string `json:"host"`   // name of its host
	HostID     string `json:"hostId"` // 32 hex digits
	Simulated  bool   `json:"simulated"`
	Task       string `json:"task"`       // id of the task that holds it, empty when it is free
	Container  string `json:"container"`  // name of the container that holds it
	Definition string `json:"definition"` // of the task, "family:revision"
	Team       string `json:"team"`       // of the task

	Partition string `json:"partition"` // what its GPU is going to be: it goes, and gets no tasks; empty: it stays

	Shares []GPUShare `json:"shares"` // of a GPU that containers share; the members of the task are empty then
}

// GPUShare is the share that a container has of a GPU.
type GPUShare struct {
	Task           string `json:"task"`
	Container      string `json:"container"`
	Definition     string `json:"definition"` // of the task, "family:revision"
	Team           string `json:"team"`
	MemoryMiB      int64  `json:"memoryMiB"`
	ComputePercent int64  `json:"computePercent"` // 0: no limit
}

// Holders are the shares of the GPU, or its owner with all of its memory, who may be nobody.
func (g *GPU) Holders() []GPUShare {
	if len(g.Shares) > 0 {
		return g.Shares
	}
	return []GPUShare{{Task: g.Task, Container: g.Container, Definition: g.Definition, Team: g.Team, MemoryMiB: g.MemoryMiB}}
}

// Free reports whether a new task can get the whole GPU.
func (g *GPU) Free() bool {
	return g.Task == "" && len(g.Shares) == 0 && g.Health == Healthy && g.Partition == ""
}

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

// HostID is the id of the host that this client talks to.
func (c *Client) HostID(ctx context.Context) (string, error) {
	version, err := readVersion(ctx, c)
	if err == nil && version.HostID == "" {
		err = errors.New("the host does not tell its id to this access key: use its socket, as root on its machine")
	}
	return version.HostID, err
}

// Version is the version of Pinion on the host that this client talks to.
func (c *Client) Version(ctx context.Context) (string, error) {
	version, err := readVersion(ctx, c)
	return version.Version, err
}

// hostVersion is empty where the host does not know the caller: agents know none but their own root.
type hostVersion struct {
	Version string `json:"version"`
	HostID  string `json:"hostId"`
}

func readVersion(ctx context.Context, c *Client) (hostVersion, error) {
	var version hostVersion
	return version, c.Get(ctx, "/v1/version", nil, &version)
}

// HostChange is a change of a host's place in the pool.
type HostChange string

// The changes that ChangeHost makes.
const (
	RemoveHost  HostChange = "remove"  // from the pool, permanently
	PromoteHost HostChange = "promote" // to a voting server
	DemoteHost  HostChange = "demote"  // to an agent that holds no state
)

// ChangeHost makes a change to the host with the id. With force, RemoveHost also removes a host that has tasks, which
// count as STOPPED then; other changes ignore it.
func (c *Client) ChangeHost(ctx context.Context, change HostChange, id string, force bool) error {
	in := map[string]any{"host": id}
	if force {
		in["force"] = true
	}
	return c.Call(ctx, "admin/hosts/"+string(change), in, nil)
}

// QuarantineGPU keeps the GPU with the UUID from new tasks.
func QuarantineGPU(ctx context.Context, c *Client, uuid, reason string) error {
	return c.Call(ctx, "admin/gpus/quarantine", map[string]any{"gpu": uuid, "reason": reason}, nil)
}

// ReleaseGPU ends the quarantine of the GPU with the UUID.
func ReleaseGPU(ctx context.Context, c *Client, uuid string) error {
	return c.Call(ctx, "admin/gpus/release", map[string]any{"gpu": uuid}, nil)
}

// CheckGPU has the host of the GPU with the UUID check it once no task has it, and reset it before.
func CheckGPU(ctx context.Context, c *Client, uuid string, reset bool) error {
	action := "check"
	if reset {
		action = "reset"
	}
	return c.Call(ctx, "admin/gpus/"+url.PathEscape(uuid)+"/"+action, map[string]any{}, nil)
}

// ForgetGPU makes the host of the GPU with the UUID, which is missing there, forget it.
func ForgetGPU(ctx context.Context, c *Client, uuid string) error {
	return c.Call(ctx, "admin/gpus/"+url.PathEscape(uuid)+"/forget", map[string]any{}, nil)
}

// GPUCheck is how far the check is that CheckGPU has asked for. problem is why the GPU has not passed; empty: it has.
func GPUCheck(ctx context.Context, c *Client, uuid string) (done bool, problem string, err error) {
	var outcome struct {
		Done    bool
		Problem string
	}
	err = c.Get(ctx, "/v1/admin/gpus/"+url.PathEscape(uuid)+"/check", nil, &outcome)
	return outcome.Done, outcome.Problem, err
}

// Statuses of a host that SetHostStatus sets.
const (
	Active   = "ACTIVE"   // it gets new tasks
	Draining = "DRAINING" // it gets none; those that run there go on
)

// DrainHost makes the host with the id Draining and has its tasks stopped: now, with their stop timeouts, or so that they have ended after
// the deadline. Tasks whose retries allow it are queued again.
func DrainHost(ctx context.Context, c *Client, cluster, id string, deadline time.Duration) error {
	return setHostStatus(ctx, c, map[string]any{"cluster": cluster, "containerInstances": []string{id}, "status": Draining, "stopTasks": true,
		"deadlineSeconds": int(deadline.Round(time.Second).Seconds())})
}

// SetHostStatus makes the host with the id Active or Draining.
func (c *Client) SetHostStatus(ctx context.Context, cluster, id, status string) error {
	return setHostStatus(ctx, c, map[string]any{"cluster": cluster, "containerInstances": []string{id}, "status": status})
}

func setHostStatus(ctx context.Context, c *Client, in map[string]any) error {
	var out struct {
		Failures []Failure `json:"failures"`
	}
	if err := c.Call(ctx, "UpdateContainerInstancesState", in, &out); err != nil {
		return err
	}
	if len(out.Failures) > 0 {
		return &APIError{Type: "ClientException", Status: http.StatusBadRequest, Message: fmt.Sprintf("host %s: %s", ResourceID(out.Failures[0].ARN), out.Failures[0].Reason)}
	}
	return nil
}
