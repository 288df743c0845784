package runtime

import (
	"context"

	"pinion/raftfsm/spec"
)

// Network modes of ECS that a host runs. NetworkHost and NetworkNone are values of ContainerSpec.Network beside a namespace's path.
const (
	NetworkBridge = "bridge"
	NetworkAwsvpc = "awsvpc"
	NetworkHost   = "host"
	NetworkNone   = "none"
)

// HasNamespace reports whether containers of the mode have a network namespace that a Network makes.
func HasNamespace(mode string) bool { return mode == NetworkBridge || mode == NetworkAwsvpc }

// Network attaches containers to the network: in mode bridge each one by itself, in mode awsvpc all of a task together.
type Network interface {
	// Attach makes a namespace with an address and its published ports. Attaching the same id again
	// returns the same, also after a restart of Pinion. After an error nothing of it is left.
	Attach(ctx context.Context, r AttachRequest) (Attachment, error)
	// Detach undoes Attach; nil when there is nothing left to undo.
	Detach(ctx context.Context, id string) error
}

// AttachRequest asks for an attachment to the network.
type AttachRequest struct {
	Mode  string             // NetworkBridge or NetworkAwsvpc
	ID    string             // of the container, in mode awsvpc of the task
	IDs   IDRange            // of the user namespace that the network namespace belongs to; zero: the host's
	Ports []spec.PortMapping // to publish, in mode bridge
}

// ToAttach makes the request to attach a container of a task in the mode.
func ToAttach(mode, taskID, containerID string, ids IDRange, ports []spec.PortMapping) AttachRequest {
	if mode == NetworkAwsvpc {
		return AttachRequest{Mode: mode, ID: taskID, IDs: ids}
	}
	return AttachRequest{Mode: mode, ID: containerID, IDs: ids, Ports: ports}
}

// Attachment is a connection to the network, of a container or of the containers of a task.
type Attachment struct {
	Namespace string // path
	Address   string // IPv4 address in the bridge network, or in the network of tasks
	Bindings  []spec.NetworkBinding
}
