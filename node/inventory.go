package node

import (
	"context"
	"reflect"
	"slices"
	"time"

	"pinion/gpu"
	"pinion/node/gpulock"
)

// inventoryTimeout is for a driver that hangs: the host then joins without GPUs and says why.
const inventoryTimeout = 20 * time.Second

// watchGPUs reads the inventory again each time its source signals a change.
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

// refreshInventory reads the host's GPUs. A source that fails is a state of the host, not an error; the only error is that of
// ctx.
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

// markUnhealthy returns the last inventory with every GPU unhealthy, for a source that cannot be read: the GPUs stay known,
// and get no new work.
func markUnhealthy(last gpu.Inventory, err error) gpu.Inventory {
	last.Problem = err.Error()
	last.Devices = slices.Clone(last.Devices)
	for i := range last.Devices {
		last.Devices[i].Health, last.Devices[i].Problem = gpu.Unhealthy, "its state cannot be read: "+err.Error()
	}
	return last
}

// endOldSharing ends the sharing of GPUs that no container has shares of any more. One that cannot be ended is tried again by the next task of
// the GPU; the only error is that of ctx.
func endOldSharing(ctx context.Context, c Config, locks *gpulock.Locks) error {
	if c.Sharer == nil {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	if err := c.Sharer.EndOthers(call, locks.Shared()); err != nil {
		c.Log.Error("GPUs that were shared are not given back yet", "err", err)
	}
	return ctx.Err()
}
