package fake

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

var _ runtime.Network = (*Network)(nil)

// Network hands out addresses and ports in memory. Like the machine it outlives Pinion.
type Network struct {
	mu       sync.Mutex
	attached map[string]runtime.Attachment
	next     int
	fails    error
}

// NewNetwork makes a network without attachments.
func NewNetwork() *Network { return &Network{attached: map[string]runtime.Attachment{}} }

// Fail makes every Attach fail; nil lets it succeed again.
func (n *Network) Fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fails = err
}

// Attached lists the ids that have an attachment, sorted.
func (n *Network) Attached() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.attached))
}

// Attach implements runtime.Network.
func (n *Network) Attach(_ context.Context, r runtime.AttachRequest) (runtime.Attachment, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fails != nil {
		return runtime.Attachment{}, n.fails
	}
	if a, ok := n.attached[r.ID]; ok {
		return a, nil
	}
	n.next++
	a := runtime.Attachment{Namespace: "/netns/" + r.ID, Address: fmt.Sprintf("172.31.0.%d", n.next)}
	for i, p := range r.Ports {
		if p.ContainerPortRange != "" {
			a.Bindings = append(a.Bindings, spec.NetworkBinding{BindIP: "0.0.0.0", ContainerPortRange: p.ContainerPortRange, HostPortRange: p.ContainerPortRange, Protocol: p.Protocol})
			continue
		}
		host := p.HostPort
		if host == 0 {
			host = 32768 + 100*n.next + i
		}
		a.Bindings = append(a.Bindings, spec.NetworkBinding{BindIP: "0.0.0.0", ContainerPort: p.ContainerPort, HostPort: host, Protocol: p.Protocol})
	}
	n.attached[r.ID] = a
	return a, nil
}

// Detach implements runtime.Network.
func (n *Network) Detach(_ context.Context, id string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.attached, id)
	return nil
}
