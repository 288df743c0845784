//go:build cgo

package main

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
)

// lanes counts the NVLink lanes of one device.
type lanes struct {
	direct map[string]int // by the peer's PCI address
	fabric int            // to NVSwitch, which reaches every other device
}

// link fills in the links between the devices. handles[i] belongs to devices[i].
func (d *driver) link(devices []gpu.Device, handles []nvml.Device) {
	if len(devices) < 2 {
		return
	}
	nvlinks := make([]lanes, len(devices))
	for i := range devices {
		nvlinks[i] = d.countLanes(handles[i])
	}
	for i := range devices {
		for j := range devices {
			if i == j {
				continue
			}
			if kind, n := nvlinkLanes(nvlinks[i], nvlinks[j], devices[j].PCI); n > 0 {
				devices[i].Links += gpu.PackLinks(gpu.Link{Peer: devices[j].UUID, Kind: kind, Lanes: n})
			} else if kind, ok := pciePath(handles[i], handles[j]); ok {
				devices[i].Links += gpu.PackLinks(gpu.Link{Peer: devices[j].UUID, Kind: kind})
			}
		}
	}
}

// countLanes reads the state of every NVLink of a device.
func (d *driver) countLanes(handle nvml.Device) lanes {
	count := lanes{direct: map[string]int{}}
	canTell := d.hasFunction("nvmlDeviceGetNvLinkRemoteDeviceType")
	for lane := range nvml.NVLINK_MAX_LINKS {
		state, ret := handle.GetNvLinkState(lane)
		if ret == nvml.ERROR_INVALID_ARGUMENT {
			break // the device has no more links
		}
		if ret != nvml.SUCCESS || state != nvml.FEATURE_ENABLED {
			continue
		}
		if canTell {
			if kind, ret := handle.GetNvLinkRemoteDeviceType(lane); ret == nvml.SUCCESS && kind == nvml.NVLINK_DEVICE_TYPE_SWITCH {
				count.fabric++
				continue
			}
		}
		if remote, ret := handle.GetNvLinkRemotePciInfo(lane); ret == nvml.SUCCESS {
			count.direct[busID(remote)]++
		}
	}
	return count
}

// nvlinkLanes returns the lanes between two devices: the direct ones, or the smaller of their lane counts to NVSwitch.
func nvlinkLanes(from, to lanes, peer string) (gpu.LinkKind, int) {
	if n := from.direct[peer]; n > 0 {
		return gpu.LinkNVLink, n
	}
	return gpu.LinkNVLink, min(from.fabric, to.fabric)
}

// pciePath returns the kind of link between two devices without NVLink.
func pciePath(a, b nvml.Device) (gpu.LinkKind, bool) {
	level, ret := a.GetTopologyCommonAncestor(b)
	if ret != nvml.SUCCESS {
		return "", false
	}
	switch level {
	case nvml.TOPOLOGY_INTERNAL, nvml.TOPOLOGY_SINGLE:
		return gpu.LinkSwitch, true
	case nvml.TOPOLOGY_MULTIPLE:
		return gpu.LinkSwitches, true
	case nvml.TOPOLOGY_HOSTBRIDGE:
		return gpu.LinkHost, true
	case nvml.TOPOLOGY_NODE:
		return gpu.LinkNode, true
	}
	return gpu.LinkSystem, true
}
