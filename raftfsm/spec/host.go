package spec

import (
	"fmt"
	"time"

	"pinion/gpu"
)

// HostStatus is ECS's container instance status, the part of it that is stored.
type HostStatus string

// Statuses of a host.
const (
	HostActive   HostStatus = "ACTIVE"
	HostDraining HostStatus = "DRAINING" // nothing new is placed here
)

// Host is a machine that runs `pinion up`; ECS calls it a container instance. Whether it can be reached right now is
// not stored: that is the leader's memory (see server).
type Host struct {
	ID               string            `json:"id"`      // 32 hex digits, fixed for the life of the data directory
	Name             string            `json:"name"`    // host name, for people
	Cluster          string            `json:"cluster"` // name of the cluster whose tasks it runs
	Address          string            `json:"address"` // host:port that other hosts and clients reach
	Version          string            `json:"version"` // version of pinion there
	Status           HostStatus        `json:"status"`
	Attributes       map[string]string `json:"attributes"` // ecs.* built-in, pinion.* ours, and what `up --attribute` set
	CPU              int64             `json:"cpu"`        // CPU units to give away, 1024 a core
	MemoryMiB        int64             `json:"memoryMiB"`  // memory to give away, what the machine itself needs taken off
	Ports            []int             `json:"ports"`      // TCP ports that are never given to tasks
	GPUs             gpu.Inventory     `json:"gpus"`
	RegisteredAt     time.Time         `json:"registeredAt"`
	Revision         int64             `json:"revision"`               // +1 with each change; ECS's "version"
	FeatureLevel     int               `json:"featureLevel,omitempty"` // FeatureLevel of the version there; 0 is 1
	Server           bool              `json:"server,omitempty"`       // the pool wants it to be a server; see SetServer
	LostAt           time.Time         `json:"lostAt,omitzero"`        // when it was given up, zero while it is not; see LoseHost
	CustomAttributes map[string]string `json:"custom,omitempty"`       // attributes of PutAttributes, never the host's own word
	Tags             []Tag             `json:"tags,omitempty"`
	HealthAt         time.Time         `json:"healthAt,omitzero"`            // when the health of its GPUs changed last; zero: before anybody noted it
	Volumes          []VolumeRoot      `json:"volumes,omitempty" level:"1"`  // directories that tasks may mount
	Allow            []string          `json:"allow,omitempty" level:"1"`    // powers that containers may have: AllowPrivileged and the like, capabilities
	Place            string            `json:"place,omitempty" level:"1"`    // its data directory on its machine since the boot: which process speaks for it; empty: it does not say
	Starts           int64             `json:"starts,omitempty" level:"1"`   // how often it was started: who counts less has an older copy of its identity
	Build            string            `json:"build,omitempty" level:"1"`    // 8 hex digits of what the pinion there is built of
	Runtime          string            `json:"runtime,omitempty" level:"1"`  // name and version of its container runtime: "containerd 2.4.2"
	AppArmor         bool              `json:"appArmor,omitempty" level:"1"` // its containers are confined by AppArmor profiles
}

// CheckProcess fails when the process that calls itself this host cannot be it (ErrHostElsewhere): it counts fewer starts than
// the host, so that its data directory is an older copy, or it is at another place while the host is alive.
func (h *Host) CheckProcess(place string, starts int64, alive bool) error {
	switch {
	case starts != 0 && starts < h.Starts:
		return fmt.Errorf("host %s (%s): %w: the host at %s was started %d times and this one says %d: its data directory is an older copy", h.ID, h.Name, ErrHostElsewhere, h.Address, h.Starts, starts)
	case alive && place != "" && h.Place != "" && place != h.Place:
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
var ErrRemoved = fmt.Errorf("the host was removed from the pool: to add this machine again, delete its data directory and join with a new token")
