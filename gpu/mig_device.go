package gpu

import (
	"context"
	"slices"
	"strconv"

	"pinion/gpu/mig"
)

// MIGDevice describes a device that is a part of a GPU: a compute instance of one of its GPU instances, in NVIDIA's words. It has memory and
// multiprocessors of its own. Nobody changes it.
type MIGDevice struct {
	Parent          string `json:"parent"`                    // UUID of the GPU
	ParentMemoryMiB int64  `json:"parentMemoryMiB,omitempty"` // 0 when it is not known
	Index           int    `json:"index"`                     // among the MIG devices of the GPU, from 0
	Profile         string `json:"profile"`                   // "1g.10gb": slices of the multiprocessors, and memory
	Start           int    `json:"start"`                     // its first slice of memory on the GPU; -1 when it is not known
}

// Instance is the MIG device in a layout of its GPU.
func (m *MIGDevice) Instance() mig.Instance { return mig.Instance{Profile: m.Profile, Start: m.Start} }

// Layout is the partition of the GPU with the UUID; empty when it is whole, or not there. MIG devices without a known place are left out.
func (i Inventory) Layout(card string) (l mig.Layout) {
	for n := range i.Devices {
		if m := i.Devices[n].MIGDevice; m != nil && m.Parent == card && m.Start >= 0 {
			l = append(l, m.Instance())
		}
	}
	return mig.Sorted(l)
}

// Partitioner is a Source that can partition GPUs.
type Partitioner interface {
	// Partition makes the MIG devices of the GPU with the UUID be those of the layout: an empty one makes it whole. Those that it has already are left
	// alone. Nothing may have those open that go, nor a whole GPU that is to be partitioned.
	Partition(ctx context.Context, uuid string, layout mig.Layout) error
}

// MaxDevices bounds the GPUs and MIG devices of a host that are given to tasks.
const MaxDevices = 64

// tooMany is why a device beyond MaxDevices is given to nobody.
const tooMany = "this host has more than 64 GPUs and MIG devices, and those behind them are given to nobody"

// Number names the device on its host, as NVIDIA does: "3", and "3:1" of a MIG device of GPU 3.
func (d *Device) Number() string {
	number := strconv.Itoa(d.Index)
	if d.MIGDevice != nil {
		number += ":" + strconv.Itoa(d.MIGDevice.Index)
	}
	return number
}

// GPU is the UUID of the GPU that the device is, or is a part of.
func (d *Device) GPU() string {
	if d.MIGDevice == nil {
		return d.UUID
	}
	return d.MIGDevice.Parent
}

// IsOf reports whether the device has the UUID, or is a MIG device of the GPU with it.
func (d *Device) IsOf(uuid string) bool { return d.UUID == uuid || d.GPU() == uuid }

// PartitionedAnew reports whether a device that is not listed is a MIG device whose GPU is there, or a whole GPU that has MIG devices now: nothing is
// missing then.
func (d *Device) PartitionedAnew(listed []Device) bool {
	return slices.ContainsFunc(listed, func(l Device) bool { return l.IsOf(d.GPU()) })
}

// Profile is the profile of a MIG device; "" of a whole GPU.
func (d *Device) Profile() string {
	if d.MIGDevice == nil {
		return ""
	}
	return d.MIGDevice.Profile
}

// WholeGPUs counts the devices that are whole GPUs.
func WholeGPUs(devices []Device) (n int) {
	for i := range devices {
		if devices[i].MIGDevice == nil {
			n++
		}
	}
	return n
}

// Bounded has the devices beyond MaxDevices, which nothing can be given of, say so.
func (i Inventory) Bounded() Inventory {
	if len(i.Devices) <= MaxDevices {
		return i
	}
	i.Devices = slices.Clone(i.Devices)
	for _, d := range ordered(i.Devices, len(i.Devices))[MaxDevices:] {
		d.Health, d.Problem = Unhealthy, tooMany
	}
	return i
}
