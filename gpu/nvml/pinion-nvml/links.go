//go:build cgo

package main

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
)

// lanes counts the NVLink lanes of one device.
type lanes struct {
	direct map[string]int // to a peer, by its PCI address
	fabric int            // into NVSwitch, from where every other device in there is reached
}

// link fills in how the devices reach one another. handles[i] belongs to devices[i].
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
				devices[i].Links = append(devices[i].Links, gpu.Link{Peer: devices[j].UUID, Kind: kind, Lanes: n})
			} else if kind, ok := pciePath(handles[i], handles[j]); ok {
				devices[i].Links = append(devices[i].Links, gpu.Link{Peer: devices[j].UUID, Kind: kind})
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
			break // the device has no more
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

// nvlinkLanes counts the lanes from one device to another: direct ones, or as many as both have into the fabric.
func nvlinkLanes(from, to lanes, peer string) (gpu.LinkKind, int) {
	if n := from.direct[peer]; n > 0 {
		return gpu.LinkNVLink, n
	}
	return gpu.LinkNVLink, min(from.fabric, to.fabric)
}

// pciePath is how far apart two devices are without NVLink.
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
