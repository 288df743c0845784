package spec

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/filesystem"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/partition"
	"pinion/raftfsm/quarantine"
	"pinion/raftfsm/tasknetwork"
	"pinion/raftfsm/traffic"
	"pinion/raftfsm/volumeroot"
)

// HostStatus is ECS's container instance status, the part of it that is stored.
type HostStatus string

// Statuses of a host.
const (
	HostActive   HostStatus = "ACTIVE"
	HostDraining HostStatus = "DRAINING" // nothing new is placed here
)

// Host is a machine that runs `pinion up`; ECS calls it a container instance. Whether it can be reached right now is
// the leader's memory (see server): Connection follows it, for those who read events.
//
// Who is connected is the leader's memory. Host.Connection follows it by RecordConnections, for the events on every server; nothing decides by
// it. Leader is such a record too: Raft knows who leads. A lost host offers nothing (LostAt), and its tasks are declared STOPPED but for those
// in Keep. PutHost ends the loss. What it still runs is STOPPED here, so its reports are answered with those ids and it stops them. A removed
// host is remembered for ever: its id never comes back, so its certificate is worth nothing. Host.Server is desired state, Raft's configuration
// is observed state. The record survives a change of leaders half-way. Host attributes have one source each: inventory and version before
// PutAttributes, and that before what the host says of itself.
type Host struct {
	ID               string                    `json:"id"`      // 32 hex digits, fixed for the life of the data directory
	Name             string                    `json:"name"`    // host name, for people
	Cluster          string                    `json:"cluster"` // name of the cluster whose tasks it runs
	Address          string                    `json:"address"` // host:port that other hosts and clients reach
	Version          string                    `json:"version"` // version of pinion there
	Status           HostStatus                `json:"status"`
	Attributes       map[string]string         `json:"attributes"` // ecs.* built-in, pinion.* ours, and what `up --attribute` set
	CPU              int64                     `json:"cpu"`        // CPU units to give away, 1024 a core
	MemoryMiB        int64                     `json:"memoryMiB"`  // memory to give away, what the machine itself needs taken off
	Ports            []int                     `json:"ports"`      // TCP ports that are never given to tasks
	GPUs             gpu.Inventory             `json:"gpus"`
	RegisteredAt     time.Time                 `json:"registeredAt"`
	Revision         int64                     `json:"revision"`               // +1 with each change; ECS's "version"
	FeatureLevel     int                       `json:"featureLevel,omitempty"` // FeatureLevel of the version there; 0 is 1
	Server           bool                      `json:"server,omitempty"`       // the pool wants it to be a server; see SetServer
	LostAt           time.Time                 `json:"lostAt,omitzero"`        // when it was given up, zero while it is not; see LoseHost
	CustomAttributes map[string]string         `json:"custom,omitempty"`       // attributes of PutAttributes, never the host's own word
	Tags             []Tag                     `json:"tags,omitempty"`
	HealthAt         time.Time                 `json:"healthAt,omitzero"`                    // when the health of its GPUs changed last; zero: before anybody noted it
	Volumes          []volumeroot.Root         `json:"volumes,omitempty" level:"1"`          // directories that tasks may mount
	Allow            []string                  `json:"allow,omitempty" level:"1"`            // powers that containers may have: AllowPrivileged and the like, capabilities
	Location         string                    `json:"place,omitempty" level:"1"`            // its data directory on its machine since the boot: which process speaks for it; empty: it does not say
	Starts           int64                     `json:"starts,omitempty" level:"1"`           // how often it was started: who counts less has an older copy of its identity
	Build            string                    `json:"build,omitempty" level:"1"`            // 8 hex digits of what the pinion there is built of
	Runtime          string                    `json:"runtime,omitempty" level:"1"`          // name and version of its container runtime: "containerd 2.4.2"
	AppArmor         bool                      `json:"appArmor,omitempty" level:"1"`         // its containers are confined by AppArmor profiles
	UserNamespaces   UserNamespaces            `json:"userNamespaces,omitempty" level:"1"`   // whether its containers can run in user namespaces, or always do
	Drain            *HostDrain                `json:"drain,omitempty" level:"1"`            // nil: while it is DRAINING, its tasks end by themselves
	Connection       *HostConnection           `json:"connection,omitempty" level:"1"`       // as it was recorded last; nil: it was never silent
	ListenerProblems []traffic.ListenerProblem `json:"listenerProblems,omitempty" level:"1"` // the listeners that its proxy does not serve, by port
	VirtualIPs       []iplease.Offer           `json:"virtualIPs,omitempty" level:"1"`       // addresses that it offers to hold for the pool
	Quarantine       quarantine.List           `json:"quarantine,omitempty" level:"1"`       // its GPUs that somebody keeps from new tasks
	Partitions       partition.List            `json:"partitions,omitempty" level:"1"`       // its GPUs that the pool partitions
	Devices          []string                  `json:"devices,omitempty" level:"1"`          // paths below /dev of devices that containers may have, and of directories of them
	LogDestinations  []string                  `json:"logDestinations,omitempty" level:"1"`  // where it sends the logs of containers; see logdriver.ParseAllowed
	Buckets          []string                  `json:"buckets,omitempty" level:"1"`          // names of the buckets that containers may have environment files of
	TaskNetwork      *tasknetwork.Network      `json:"taskNetwork,omitempty" level:"1"`      // whose addresses its tasks of networkMode awsvpc have; nil: none
	SharedVolumes    []string                  `json:"sharedVolumes,omitempty" level:"1"`    // names of the shared volumes below volumeroot.Local that it has, volumeroot.MaxShared at most
	FileSystems      []filesystem.Offer        `json:"fileSystems,omitempty" level:"1"`      // network file systems that it mounts for tasks
	CountsSwap       bool                      `json:"countsSwap,omitempty" level:"1"`       // its kernel limits the swap of containers
}

// HostConnection says since when a host is silent, or is heard of again.
type HostConnection struct {
	Silent bool      `json:"silent,omitempty"`
	At     time.Time `json:"at"`             // of the change, by the clock of the leader that recorded it
	Heard  time.Time `json:"heard,omitzero"` // of a silent host: when it was heard of last
}

// Silent says whether the leader has recorded that the host is not heard of.
func (h *Host) Silent() bool { return h != nil && h.Connection != nil && h.Connection.Silent }

// HostDrain says when the tasks of a host that is DRAINING are stopped.
type HostDrain struct {
	At    time.Time     `json:"at"`             // by the clock of the leader that recorded it
	After time.Duration `json:"after"`          // from then to At, so that no leader's clock makes it longer
	Kill  bool          `json:"kill,omitempty"` // they have ended at At: they are asked to stop as long before as they may take for it
}

// UserNamespaces is the policy of a host about user namespaces. The zero value is that of a host that has none, or whose version does not
// know of them.
type UserNamespaces string

// What hosts do about user namespaces.
const (
	UserNamespacesAvailable UserNamespaces = "available" // for the tasks of clusters that want them
	UserNamespacesRequired  UserNamespaces = "required"  // for all tasks: `pinion up --user-namespaces`
)

// CheckProcess fails when the process that calls itself this host cannot be it (ErrHostElsewhere): it counts fewer starts than
// the host, so that its data directory is an older copy, or it is at another place while the host is alive.
func (h *Host) CheckProcess(location string, starts int64, alive bool) error {
	switch {
	case starts != 0 && starts < h.Starts:
		return fmt.Errorf("host %s (%s): %w: the host at %s was started %d times and this one says %d: its data directory is an older copy", h.ID, h.Name, ErrHostElsewhere, h.Address, h.Starts, starts)
	case alive && location != "" && h.Location != "" && location != h.Location:
		return fmt.Errorf("host %s (%s): %w: the host runs at %s, and this is another process with a copy of its data directory", h.ID, h.Name, ErrHostElsewhere, h.Address)
	}
	return nil
}

// Lost says whether the pool has given the host up: it offers nothing, and tasks of it were declared STOPPED. A host
// that is only silent is not lost yet; that it cannot be reached is the leader's memory. The next PutHost ends it.
func (h *Host) Lost() bool { return !h.LostAt.IsZero() }

// RemovedHost is a host that belonged to the pool once. It is remembered for ever: its id never comes back, so a
// certificate that it still has is worth nothing.
type RemovedHost struct {
	ID   string    `json:"id"`
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

// ErrHostElsewhere refuses a process with the identity of a host that another process has.
var ErrHostElsewhere = fmt.Errorf("another process is this host: to add this machine to the pool, stop pinion here and start it with an empty --data-dir and a join token; " +
	"if this is the right one, stop the other, remove the host with `pinion hosts rm --force`, and join anew likewise")

// ErrRemoved refuses a host that was removed from the pool.
var ErrRemoved = fmt.Errorf("the host was removed from the pool, and its tasks ended with it: to add this machine again, run `pinion down --purge` on it and join with a new token")

// RemovedError is ErrRemoved of one host. A server that was removed passes the leader's refusal of itself on to the hosts that ask through it, so a
// host believes only an error with its own id.
type RemovedError struct{ HostID string }

// Removed returns the RemovedError of a host.
func Removed(hostID string) error { return &RemovedError{hostID} }

// Error tells which host was removed, and what to do on it.
func (e *RemovedError) Error() string { return fmt.Sprintf("host %s: %v", e.HostID, ErrRemoved) }

// Unwrap makes errors.Is see ErrRemoved.
func (e *RemovedError) Unwrap() error { return ErrRemoved }

// IsRemoved reports whether the error says that this host was removed, and not another one.
func IsRemoved(err error, hostID string) bool {
	removed, is := errors.AsType[*RemovedError](err)
	return is && removed.HostID == hostID
}

// HostGPU is a GPU and its host.
type HostGPU struct {
	*gpu.Device       // of the host
	Simulated   bool  `json:"simulated"`
	Host        *Host `json:"-"`
}

// GPUChanges are the GPUs in which two versions of a host differ, those that are new or changed and those that are gone, with the host that has
// them. Nil is a host that does not exist; at most one of the two is nil.
func GPUChanges(before, after *Host) (changed, gone []*HostGPU) {
	host := after
	if after == nil {
		host = before
	}
	was, is := before.devices(), after.devices()
	if len(was) == len(is) && len(is) > 0 && &was[0] == &is[0] {
		return nil, nil // another change of the host
	}
	of := func(device *gpu.Device) *HostGPU { return &HostGPU{device, host.GPUs.Simulated, host} }
	for i := range is {
		if known := find(was, is[i].UUID); known == nil || !reflect.DeepEqual(known, &is[i]) {
			changed = append(changed, of(&is[i]))
		}
	}
	for i := range was {
		if find(is, was[i].UUID) == nil {
			gone = append(gone, of(&was[i]))
		}
	}
	return changed, gone
}

func (h *Host) devices() []gpu.Device {
	if h == nil {
		return nil
	}
	return h.GPUs.Devices
}

// find returns the device with the UUID, nil when there is none.
func find(devices []gpu.Device, uuid string) *gpu.Device {
	for i := range devices {
		if devices[i].UUID == uuid {
			return &devices[i]
		}
	}
	return nil
}

// EqualHealth reports whether two inventories have the same devices with the same health.
func EqualHealth(a, b gpu.Inventory) bool {
	same := func(x, y gpu.Device) bool { return x.UUID == y.UUID && x.Health == y.Health && x.Problem == y.Problem }
	return a.Problem == b.Problem && slices.EqualFunc(a.Devices, b.Devices, same)
}

// WithMissingGPUs is the new inventory of a host with the missing devices that a task still holds, by UUID: they stay recorded, unhealthy and
// with the reason, until no task holds them. Otherwise a GPU would disappear from its task without a trace.
func WithMissingGPUs(now, before gpu.Inventory, owners map[string]string) gpu.Inventory {
	devices := slices.Clone(now.Devices)
	for _, d := range before.Devices {
		owner := owners[d.UUID]
		if _, there := now.Device(d.UUID); there || owner == "" {
			continue
		}
		d.Health, d.Problem = gpu.Unhealthy, fmt.Sprintf("the host does not have it any more, task %s holds it", owner)
		devices = append(devices, d)
	}
	now.Devices = devices
	return now
}

// VirtualIP returns the host's offer of a virtual IP; nil when it does not offer it.
func (h *Host) VirtualIP(ip string) *iplease.Offer {
	for i := range h.VirtualIPs {
		if h.VirtualIPs[i].IP == ip {
			return &h.VirtualIPs[i]
		}
	}
	return nil
}

// WithoutPort returns the host of a host:port.
func WithoutPort(address string) string {
	if port := strings.LastIndexByte(address, ':'); port >= 0 {
		address = address[:port]
	}
	return strings.Trim(address, "[]") // of an IPv6 address
}
