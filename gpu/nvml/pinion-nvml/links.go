//go:build cgo

package main

import (
	"maps"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
)

// lanes are the NVLink lanes of one device that are up: the other end of each, by the number of the lane.
type lanes map[int]string // PCI address of a peer, or nvswitch

// nvswitch is the end of a lane into NVSwitch, which reaches every other device.
const nvswitch = "NVSwitch"

// to counts the lanes to an end.
func (l lanes) to(end string) (n int) {
	for _, other := range l {
		if other == end {
			n++
		}
	}
	return n
}

// link fills in the links between the devices, and finds those that are down. readings[i] belongs to devices[i].
func (d *driver) link(devices []gpu.Device, readings []reading) {
	for i := range devices {
		for j := range devices {
			if i == j {
				continue
			}
			if kind, n := nvlinkLanes(readings[i].up, readings[j].up, devices[j].PCI); n > 0 {
				devices[i].Links += gpu.PackLinks(gpu.Link{Peer: devices[j].UUID, Kind: kind, Lanes: n})
			} else if kind, ok := pciePath(readings[i].handle, readings[j].handle); ok {
				devices[i].Links += gpu.PackLinks(gpu.Link{Peer: devices[j].UUID, Kind: kind})
			}
		}
	}
	d.links.check(devices, readings)
}

// lanesUp reads the state of every NVLink of a device.
func (d *driver) lanesUp(handle nvml.Device) lanes {
	up := lanes{}
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
				up[lane] = nvswitch
				continue
			}
		}
		if remote, ret := handle.GetNvLinkRemotePciInfo(lane); ret == nvml.SUCCESS {
			up[lane] = busID(remote)
		}
	}
	return up
}

// linkHealth is what is known of the links of devices beyond their present state. The zero value is ready to use.
type linkHealth struct {
	seen     map[string]lanes       // by UUID: every lane that was up since this process was started
	findings map[string]gpu.Finding // by UUID: what the last check has found
}

// check finds the devices with lanes that are down, and those that cannot use their fabric. readings[i] belongs to devices[i].
func (h *linkHealth) check(devices []gpu.Device, readings []reading) {
	h.findings = map[string]gpu.Finding{}
	joined := slices.ContainsFunc(readings, func(r reading) bool { return r.joined })
	for i := range devices {
		device, up, fabric := &devices[i], readings[i].up, readings[i].fabric
		down := max(h.lost(device, up, devices), mostIntoSwitches(device.Model, readings)-up.to(nvswitch))
		found := gpu.NVLinksDown(down, len(up)+down)
		if fabric.matters(up, joined) {
			found = fabric.Finding(fabric.detail)
		}
		if found.Problem == "" {
			continue
		}
		h.findings[device.UUID] = found
		if device.Health == gpu.Healthy {
			device.Health, device.Problem = found.Health, found.Problem
		}
	}
}

// lost counts the lanes of a device that were up since this process was started and are not any more. Those to a peer that is gone, or that the driver
// does not reach, say nothing about this device.
func (h *linkHealth) lost(device *gpu.Device, up lanes, devices []gpu.Device) (n int) {
	if h.seen == nil {
		h.seen = map[string]lanes{}
	}
	seen := h.seen[device.UUID]
	if seen == nil {
		seen = lanes{}
		h.seen[device.UUID] = seen
	}
	maps.Copy(seen, up)
	for lane, end := range seen {
		_, isUp := up[lane]
		there := end == nvswitch || slices.ContainsFunc(devices, func(peer gpu.Device) bool { return peer.PCI == end && peer.Health != gpu.Lost })
		if !isUp && there {
			n++
		}
	}
	return n
}

// mostIntoSwitches is the most lanes into NVSwitch that a device of the model has: all devices of a baseboard have as many.
func mostIntoSwitches(model string, readings []reading) (most int) {
	for i := range readings {
		if readings[i].device.Model == model {
			most = max(most, readings[i].up.to(nvswitch))
		}
	}
	return most
}

// nvlinkLanes returns the lanes between two devices: the direct ones, or the smaller of their lane counts to NVSwitch.
func nvlinkLanes(from, to lanes, peer string) (gpu.LinkKind, int) {
	if n := from.to(peer); n > 0 {
		return gpu.LinkNVLink, n
	}
	return gpu.LinkNVLink, min(from.to(nvswitch), to.to(nvswitch))
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
