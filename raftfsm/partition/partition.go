// Package partition has the partitions of GPUs into MIG devices that the pool wants of a host. The host does it, and reports what it has.
package partition

import (
	"slices"
	"time"

	"pinion/gpu"
	"pinion/gpu/mig"
)

// MaxGPUs bounds the GPUs of a host that the pool partitions.
const MaxGPUs = 32

// GPU is one that the pool partitions.
type GPU struct {
	UUID   string     `json:"uuid"`
	Layout mig.Layout `json:"layout,omitempty"` // empty: it is to be whole again
	At     time.Time  `json:"at"`               // when the layout became this
}

// List is the GPUs of a host that the pool partitions. Its methods change neither it nor the inventory that they are given.
type List []GPU

// Find is that of the GPU; nil when the pool does not partition it.
func (l List) Find(uuid string) *GPU {
	at := slices.IndexFunc(l, func(g GPU) bool { return g.UUID == uuid })
	if at < 0 {
		return nil
	}
	return &l[at]
}

// Removes reports whether the device is not of the layout that its GPU is to have: it gets no tasks, and goes.
func (l List) Removes(d *gpu.Device) bool {
	own := l.OfDevice(d)
	switch {
	case own == nil:
		return false
	case d.MIGDevice == nil:
		return len(own.Layout) > 0
	}
	return !slices.Contains(own.Layout, d.MIGDevice.Instance())
}

// OfDevice is that of the GPU which the device is, or is a part of; nil when the pool does not partition it.
func (l List) OfDevice(d *gpu.Device) *GPU { return l.Find(d.GPU()) }

// Hide is the inventory with the devices that go as unhealthy.
func (l List) Hide(inventory gpu.Inventory) gpu.Inventory {
	if len(l) == 0 {
		return inventory
	}
	inventory.Devices = slices.Clone(inventory.Devices)
	for i := range inventory.Devices {
		if d := &inventory.Devices[i]; l.Removes(d) {
			d.Health = gpu.Unhealthy
		}
	}
	return inventory
}

// Set is the list with another layout of a GPU.
func (l List) Set(g GPU) List {
	left := slices.DeleteFunc(slices.Clone(l), func(old GPU) bool { return old.UUID == g.UUID })
	return append(left, g)
}

// Prune is the list without the GPUs that are whole again, as they are to be, and without those that have left the host. Of a host that lets the pool
// partition none it is empty: what is there is the operator's from then on.
func (l List) Prune(inventory gpu.Inventory) List {
	if !inventory.DynamicMIG {
		return nil
	}
	isDone := func(g GPU) bool {
		_, whole := inventory.Device(g.UUID)
		isThere := slices.ContainsFunc(inventory.Devices, func(d gpu.Device) bool { return d.IsOf(g.UUID) })
		return whole && len(g.Layout) == 0 || !isThere && inventory.Problem == ""
	}
	if !slices.ContainsFunc(l, isDone) {
		return l
	}
	return slices.DeleteFunc(slices.Clone(l), isDone)
}
