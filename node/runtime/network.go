package runtime

import (
	"context"

	"pinion/raftfsm/spec"
)

// Network modes of ECS that a host runs, and the values of ContainerSpec.Network beside a namespace's path.
const (
	NetworkBridge = "bridge"
	NetworkHost   = "host"
	NetworkNone   = "none"
)

// Network attaches containers to the network (bridge mode).
type Network interface {
	// Attach makes a namespace for the container with an address and its published ports. Attaching the same id again
	// returns the same, also after a restart of Pinion. After an error nothing of it is left. With ids the namespace belongs to a
	// user namespace with these.
	Attach(ctx context.Context, id string, ids IDRange, ports []spec.PortMapping) (Attachment, error)
	// Detach undoes Attach; nil when there is nothing left to undo.
	Detach(ctx context.Context, id string) error
}

// Attachment is a container's connection to the network.
type Attachment struct {
	Namespace string // path
	Address   string // IPv4 address in the bridge network
	Bindings  []spec.NetworkBinding
}
