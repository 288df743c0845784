package node

import (
	"context"
	"syscall"
	"time"

	"pinion/raftfsm/spec"
)

// Images brings images to this host.
type Images interface {
	// Pull makes ref present, unpacked and ready for this machine's platform, and returns what containers need of it.
	// An image that is there already by digest or is built in costs no network. Errors name the image, the registry
	// and what to do; they become "CannotPullContainerError: ...".
	Pull(ctx context.Context, ref string, progress func(spec.Pull)) (Image, error)
}

// Image is a pulled image.
type Image struct {
	Ref    string // normalised, "docker.io/nvidia/cuda:9.0-base"
	Digest string // "sha256:..."
}

// Containers runs containers on this host. The container id is chosen by the caller and names it for ever: starting
// the same id twice is impossible. Implementations pass the conformance suite in node/runtimetest.
type Containers interface {
	// Start creates and starts the container. ErrExists when the id is known, whatever its state. After any other
	// error nothing of the container is left; the error wraps ErrCreate when the process was not even tried.
	Start(ctx context.Context, c ContainerSpec) error
	// Wait blocks until the container has ended, its last process is gone and its exit is recorded where a restart of
	// Pinion or of the runtime finds it. Calling it again answers the same. It outlives a restart of the runtime.
	// ErrUnknown when there is no such container.
	Wait(ctx context.Context, id string) (Exit, error)
	// Kill sends the signal to the container's first process, or to every process when it is SIGKILL. Nil when it has
	// ended already or is unknown.
	Kill(ctx context.Context, id string, sig syscall.Signal) error
	// List returns every container of Pinion's on this host, ended ones too, until they are removed.
	List(ctx context.Context) ([]ExistingContainer, error)
	// Remove forgets the container with its file system; it kills what is left of it. Nil when unknown.
	Remove(ctx context.Context, id string) error
}

// Execer runs health checks in containers.
type Execer interface {
	// Exec runs the command in a running container, as the container's own user, with its environment, directory and
	// limits, and answers its exit code: 127 for a command that the container does not have. When ctx ends first the
	// command is killed. An error says that it could not be run at all.
	Exec(ctx context.Context, id string, command []string) (code int, err error)
}

// ContainerSpec is one container ready to start: everything is decided, nothing is looked up any more. Def.Hostname
// is filled in, except on the host's own network, where the container has the host's name.
type ContainerSpec struct {
	ID          string // ContainerID(task, name)
	Task        *spec.Task
	Def         *spec.ContainerDefinition // effective: overrides merged
	TaskDef     *spec.TaskDefinition      // effective
	Image       Image
	GPUs        []string          // UUIDs, only these devices are visible
	Env         []string          // "NAME=value": the final environment, laid over the image's own by name; wins over Def
	Network     string            // path of a network namespace, "host", or "none"
	VolumePaths map[string]string // volume name -> directory on this host
	HostsFile   string            // file to mount as /etc/hosts, empty: none
	ResolvFile  string            // file to mount as /etc/resolv.conf, empty: none
}

// Exit is how a container ended.
type Exit struct {
	Code int       // exit code, 128+n when signal n ended it; 137 also when it ran out of memory
	At   time.Time // when
	OOM  bool      // the kernel killed it for memory
	// Lost is set when the exit code is not known any more (the shim died); Code is then -1.
	Lost string
}

// ExistingContainer is a container that was there when the agent started.
type ExistingContainer struct {
	ID        string
	TaskID    string
	Name      string // container name in the definition
	Image     Image
	PID       int
	GPUs      []string // as ContainerSpec.GPUs said
	CreatedAt time.Time
	StartedAt time.Time // zero: created, never started
	Exit      *Exit     // nil while it runs
}

// Network gives containers their place on the network (bridge mode).
type Network interface {
	// Attach makes a namespace for the container with an address and its published ports. Attaching the same id again
	// answers the same, also after a restart of Pinion. After an error nothing of it is left.
	Attach(ctx context.Context, id string, ports []spec.PortMapping) (Attachment, error)
	// Detach undoes Attach; nil when there is nothing left to undo.
	Detach(ctx context.Context, id string) error
}

// Attachment is a container's place on the network.
type Attachment struct {
	Namespace string // path
	Address   string // IPv4 address in the bridge network
	Bindings  []spec.NetworkBinding
}
