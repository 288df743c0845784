package sim

import (
	"crypto/sha256"
	"fmt"

	"pinion/gpu"
)

// newCards makes the GPUs. Those of each group have a PCI domain of their own.
func newCards(groups []group, seed string) (all []gpu.Device) {
	before := map[string]int{} // GPUs of the model in the groups before
	for domain, g := range groups {
		devices := newGroup(g.model, before[g.key], g.count, seed)
		before[g.key] += g.count
		for i := range devices {
			d := &devices[i]
			d.Index, d.Minor = d.Index+len(all), d.Minor+len(all)
			d.PCI = fmt.Sprintf("%08X%s", domain, d.PCI[8:])
		}
		for i := range all {
			for j := range devices {
				all[i].Links += gpu.PackLinks(gpu.Link{Peer: devices[j].UUID, Kind: gpu.LinkSystem})
				devices[j].Links += gpu.PackLinks(gpu.Link{Peer: all[i].UUID, Kind: gpu.LinkSystem})
			}
		}
		all = append(all, devices...)
	}
	return all
}

// newGroup makes GPUs of one model, of which the machine has some before the first.
func newGroup(m model, first, count int, seed string) []gpu.Device {
	devices := make([]gpu.Device, count)
	for i := range devices {
		devices[i] = gpu.Device{
			UUID:              uuid(seed, m.key, first+i),
			Index:             i,
			Minor:             i,
			PCI:               m.slots[i].pci,
			Model:             m.name,
			MemoryMiB:         m.memoryMiB,
			ComputeCapability: m.compute,
			NUMANode:          m.slots[i].numa,
			Health:            gpu.Healthy,
		}
	}
	for i := range devices {
		for peer := range devices {
			if peer != i {
				devices[i].Links += gpu.PackLinks(link(m, i, peer, devices[peer].UUID))
			}
		}
	}
	return devices
}

func link(m model, from, to int, peer string) gpu.Link {
	a, b := m.slots[from], m.slots[to]
	switch {
	case m.lanes > 0:
		return gpu.Link{Peer: peer, Kind: gpu.LinkNVLink, Lanes: m.lanes}
	case a.swtch == b.swtch:
		return gpu.Link{Peer: peer, Kind: gpu.LinkSwitch}
	case a.upper == b.upper:
		return gpu.Link{Peer: peer, Kind: gpu.LinkSwitches}
	case a.bridge == b.bridge:
		return gpu.Link{Peer: peer, Kind: gpu.LinkHost}
	case a.numa == b.numa:
		return gpu.Link{Peer: peer, Kind: gpu.LinkNode}
	}
	return gpu.Link{Peer: peer, Kind: gpu.LinkSystem}
}

// uuid has NVML's format. The seed makes it unique to the host and stable over restarts.
func uuid(seed, model string, index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", seed, model, index))
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
