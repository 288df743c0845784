//go:build cgo

package main

import (
	"github.com/NVIDIA/go-gpuallocator/gpuallocator"

	"pinion/gpu"
)

// bestEffort is the best-effort policy of NVIDIA's go-gpuallocator over made-up devices. Positions are those of gpu.Set.
type bestEffort struct{ devices []*gpuallocator.Device }

// The numbers of the library's link types, which it keeps to itself: those below are paths, those above lanes.
const (
	crossCPU     = 1
	sameCPU      = 2
	hostBridge   = 3
	multiSwitch  = 4
	singleSwitch = 5
	beforeLanes  = 6
)

// newBestEffort takes devices in the order of their indices, 0 first, each pair with links told on both sides. Beside
// NVLink the library reads which path there is; of that a gpu.Device knows the NUMA nodes.
func newBestEffort(devices []gpu.Device) bestEffort {
	b := bestEffort{devices: make([]*gpuallocator.Device, len(devices))}
	for i, d := range devices {
		b.devices[i] = &gpuallocator.Device{Index: d.Index, Links: map[int][]gpuallocator.P2PLink{}}
		b.devices[i].UUID = d.UUID
	}
	for i, d := range devices {
		for j, peer := range devices {
			link, ok := d.LinkTo(peer.UUID)
			if !ok {
				continue
			}
			for _, number := range theirLinks(link, d.NUMANode == peer.NUMANode && d.NUMANode >= 0) {
				theirs := gpuallocator.P2PLink{GPU: b.devices[j]}
				setType(&theirs.Type, number)
				b.devices[i].Links[j] = append(b.devices[i].Links[j], theirs)
			}
		}
	}
	return b
}

func theirLinks(link gpu.Link, sameNUMA bool) []uint {
	switch link.Kind {
	case gpu.LinkSwitch:
		return []uint{singleSwitch}
	case gpu.LinkSwitches:
		return []uint{multiSwitch}
	case gpu.LinkHost:
		return []uint{hostBridge}
	case gpu.LinkNode:
		return []uint{sameCPU}
	case gpu.LinkNVLink:
		if sameNUMA {
			return []uint{sameCPU, beforeLanes + uint(link.Lanes)}
		}
		return []uint{crossCPU, beforeLanes + uint(link.Lanes)}
	}
	return []uint{crossCPU}
}

// setType writes a type that has no name outside the library.
func setType[T ~uint](to *T, number uint) { *to = T(number) }

// pick is what the policy allocates. It may be fewer than n: where n does not divide the free ones, the policy fills up
// with nil devices, and now and then a set that has some of those scores most.
func (b bestEffort) pick(free gpu.DeviceSet, n int) (set gpu.DeviceSet) {
	for _, d := range gpuallocator.NewBestEffortPolicy().Allocate(b.in(free), nil, n) {
		if d != nil {
			set |= 1 << d.Index
		}
	}
	return set
}

// score is the library's: 10 for each step that a path is nearer than none, and 100 for each NVLink lane.
func (b bestEffort) score(set gpu.DeviceSet) (sum int) {
	chosen := b.in(set)
	for i, d := range chosen {
		for _, peer := range chosen[i+1:] {
			for _, link := range d.Links[peer.Index] {
				if link.Type > beforeLanes {
					sum += 100 * int(link.Type-beforeLanes)
				} else {
					sum += 10 * int(link.Type)
				}
			}
		}
	}
	return sum
}

func (b bestEffort) in(set gpu.DeviceSet) (some []*gpuallocator.Device) {
	for i, d := range b.devices {
		if set&(1<<i) != 0 {
			some = append(some, d)
		}
	}
	return some
}
