// Package runtime is the contract between the agent and a container runtime: images, containers, commands in containers,
// and the network. Drivers (node/containerd, node/network) and the stand-ins in node/runtime/fake implement it; the
// conformance suite in node/runtime/runtimetest holds every container driver to it.
package runtime

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"pinion/raftfsm/spec"
)

// ErrExists is returned by Containers.Start when the container id is known, whatever its state: a task id never starts a
// container twice.
var ErrExists = errors.New("container exists already")

// ErrNotFound is returned when there is no container of that id on this host (any more).
var ErrNotFound = errors.New("no such container")

// ErrCreate marks an error of Containers.Start that came before the container's process could be tried: its file
// system, its spec, its devices. It becomes "CannotCreateContainerError: ..."; every other error of Start becomes
// "CannotStartContainerError: ...".
var ErrCreate = errors.New("container could not be created")

// Images holds the images of this host.
type Images interface {
	// Pull makes ref present, unpacked and ready for this machine's platform, and returns what containers need of it.
	// An image that is there already by digest or is built in costs no network, unless credentials of a task (WithRegistryLogin) have
	// brought it: then the registry says each time who may have it. Errors name the image, the registry
	// and what to do; they become "CannotPullContainerError: ...".
	Pull(ctx context.Context, ref string, progress func(spec.Pull)) (Image, error)
	// Prune removes images while the disk that holds them is nearly full, the least recently used first. It keeps the
	// images named in keep, those of containers, and those that were pulled or asked for within the last minutes.
	Prune(ctx context.Context, keep []string) error
}

// Image is a pulled image.
type Image struct {
	Ref    string // normalised, "docker.io/nvidia/cuda:9.0-base"
	Digest string // "sha256:..."
}

// Containers runs containers on this host. The caller chooses the container id, which names the container for ever:
// starting the same id twice is impossible.
type Containers interface {
	// Start creates and starts the container. ErrExists when the id is known, whatever its state. After any other
	// error nothing of the container is left; the error wraps ErrCreate when the process was not even tried.
	Start(ctx context.Context, c ContainerSpec) error
	// Wait blocks until the container has ended, its last process is gone and its exit is recorded where a restart of
	// Pinion or of the runtime finds it. Calling it again returns the same. It outlives a restart of the runtime.
	// ErrNotFound when there is no such container.
	Wait(ctx context.Context, id string) (Exit, error)
	// Kill sends the signal to the container's first process, or to every process when it is SIGKILL. Nil when it has
	// ended already or is unknown.
	Kill(ctx context.Context, id string, sig syscall.Signal) error
	// List returns every container of Pinion's on this host, ended ones too, until they are removed.
	List(ctx context.Context) ([]ExistingContainer, error)
	// Remove forgets the container with its file system; it kills what is left of it. Nil when unknown.
	Remove(ctx context.Context, id string) error
}

// ContainerSpec is one container ready to start: everything is decided, nothing is looked up any more. Def.Hostname
// is filled in, except on the host's own network, where the container has the host's name.
type ContainerSpec struct {
	ID         string // ContainerID(task, name)
	Task       *spec.Task
	Def        *spec.ContainerDefinition // effective: overrides merged
	TaskDef    *spec.TaskDefinition      // effective
	Image      Image
	GPUs       []string          // UUIDs, only these devices are visible
	Shared     bool              // other tasks may have the GPUs too
	Env        []string          // "NAME=value": the final environment, laid over the image's own by name; wins over Def
	Network    string            // path of a network namespace, "host", or "none"
	IDs        IDRange           // of the container's user namespace, to which the network namespace belongs; zero: it has none
	Volumes    map[string]Volume // by name
	HostsFile  string            // file to mount as /etc/hosts, empty: none
	ResolvFile string            // file to mount as /etc/resolv.conf, empty: none
	OwnFiles   map[string]string // files and directories of Pinion's own to mount read-only, by their path in the container

	Devices []Device // of the host, beside GPUs

	// Secrets are kept in memory alone: no driver writes a value to a disk, or puts it where another can read it.
	Secrets     []Secret
	SecretFiles string // directory in the container with one file for each of Secrets; empty: they are variables, under those of Env
}

// Device is a device of the host that a container has. Its numbers say which it is.
type Device struct {
	Path         string // in the container
	Block        bool   // a block device; otherwise a character device
	Major, Minor int64
	Access       string // letters of "rwm": read, write, make nodes
	Mode         os.FileMode
	UID, GID     uint32 // owner and group of its node
}

// Secret is a secret of a container: a variable or a file.
type Secret struct{ Name, Value string }

// Volume is a volume of a task on this host.
type Volume struct {
	Path string     // of a directory in the data directory, which only this task has
	Host HostVolume // a file or directory that the host gives to tasks; nil when there is a Path
}

// HostVolume is a file or directory of the host that tasks may mount. Other tasks may change the paths that lead to it at any time.
type HostVolume interface {
	// Open opens it for a mount, unread. What is open is what has to be mounted, not its path.
	Open() (*os.File, error)
}

// ExistingContainer is a container that the runtime has: it was there when the agent started.
type ExistingContainer struct {
	ID        string
	TaskID    string
	Name      string // container name in the definition
	Image     Image
	PID       int
	GPUs      []string // as ContainerSpec.GPUs said
	Shared    bool     // as ContainerSpec.Shared said
	CreatedAt time.Time
	StartedAt time.Time // zero: created, never started
	Exit      *Exit     // nil while it runs
}
