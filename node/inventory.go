package node

import (
	"context"
	"reflect"
	"slices"
	"time"

	"pinion/gpu"
)

// inventoryTimeout is for a driver that hangs: the host then joins without GPUs and says why.
const inventoryTimeout = 20 * time.Second

// watchGPUs reads the inventory anew each time the source says that it may have changed.
func (n *Node) watchGPUs(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-n.config.GPUs.Changed():
			if !open {
				return
			}
		}
		before := n.currentHost().GPUs
		if n.refreshInventory(ctx) != nil {
			return
		}
		if !reflect.DeepEqual(before, n.currentHost().GPUs) {
			n.requestRejoin()
		}
	}
}

// refreshInventory fills in the host's GPUs. A source that cannot tell is a state of the host, not an error: only the end of
// ctx is one.
func (n *Node) refreshInventory(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	inventory, err := n.config.GPUs.Inventory(call)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		n.config.Log.Error("the GPUs of this host cannot be read", "err", err)
		inventory = markUnhealthy(n.currentHost().GPUs, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host.GPUs = inventory
	return nil
}

// markUnhealthy is what is known of GPUs that cannot be read now: they are there, and given to nobody.
func markUnhealthy(last gpu.Inventory, err error) gpu.Inventory {
	last.Problem = err.Error()
	last.Devices = slices.Clone(last.Devices)
	for i := range last.Devices {
		last.Devices[i].Health, last.Devices[i].Problem = gpu.Unhealthy, "its state cannot be read: "+err.Error()
	}
	return last
}
