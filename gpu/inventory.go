package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Device returns the device with the UUID.
func (i Inventory) Device(uuid string) (Device, bool) {
	at := slices.IndexFunc(i.Devices, func(d Device) bool { return d.UUID == uuid })
	if at < 0 {
		return Device{}, false
	}
	return i.Devices[at], true
}

// Healthy returns the UUIDs of the healthy devices, ordered by index.
func (i Inventory) Healthy() []string {
	devices := i.Devices
	for n := 1; n < len(devices); n++ { // a device is large: slices.IsSortedFunc would copy each twice
		if compareNumber(&devices[n-1], &devices[n]) > 0 {
			devices = slices.Clone(devices)
			slices.SortStableFunc(devices, func(a, b Device) int { return compareNumber(&a, &b) })
			break
		}
	}
	uuids := make([]string, 0, len(devices))
	for i := range devices {
		if devices[i].Health == Healthy {
			uuids = append(uuids, devices[i].UUID)
		}
	}
	return uuids
}

// LinkTo returns the kind of link from the device to a peer. ok is false for the device itself and for a peer without a
// recorded link.
func (d Device) LinkTo(peer string) (link Link, ok bool) {
	for link := range d.Links.All() {
		if link.Peer == peer {
			return link, true
		}
	}
	return Link{}, false
}

// compareNumber orders devices by Device.Number.
func compareNumber(a, b *Device) int {
	if order := cmp.Compare(a.Index, b.Index); order != 0 || a.MIGDevice == nil || b.MIGDevice == nil {
		return order
	}
	return cmp.Compare(a.MIGDevice.Index, b.MIGDevice.Index)
}

// ordered returns the devices with the lowest numbers, sorted by them.
func ordered(devices []Device, limit int) []*Device {
	all := make([]*Device, len(devices))
	for i := range devices {
		all[i] = &devices[i]
	}
	slices.SortStableFunc(all, func(a, b *Device) int {
		return cmp.Or(compareNumber(a, b), cmp.Compare(a.UUID, b.UUID))
	})
	return all[:min(len(all), limit)]
}

func uuids(devices []*Device) []string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = d.UUID
	}
	return names
}

// models are the models of the devices with their numbers: "2 x Tesla T4, 6 x NVIDIA L4".
func (i Inventory) models() string {
	var names []string
	count := map[string]int{}
	for n := range i.Devices {
		name := i.Devices[n].Model
		if profile := i.Devices[n].Profile(); profile != "" {
			name += " MIG " + profile
		}
		if count[name] == 0 {
			names = append(names, name)
		}
		count[name]++
	}
	for n, name := range names {
		names[n] = fmt.Sprintf("%d x %s", count[name], name)
	}
	return strings.Join(names, ", ")
}

// String returns a one-line summary for people.
func (i Inventory) String() string {
	switch {
	case i.Problem != "":
		return "none can be used: " + i.Problem
	case len(i.Devices) == 0:
		return "none"
	case i.Simulated && i.VRAMEnforcement != "":
		return fmt.Sprintf("%s, SIMULATED: containers see device nodes, not devices; shares are placed, and nothing enforces them", i.models())
	case i.Simulated:
		return fmt.Sprintf("%s, SIMULATED: containers see device nodes, not devices", i.models())
	default:
		return fmt.Sprintf("%s, driver %s", i.models(), i.Driver)
	}
}
