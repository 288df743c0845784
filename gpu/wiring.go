package gpu

import (
	"encoding/binary"
	"slices"
)

// How much one pair of devices is worth to a container that holds both. The ladder follows the bandwidth of the links, in
// the proportions of NVIDIA's go-gpuallocator, so a set that is best by it is best by theirs: one NVLink lane is worth
// more than the nearest PCIe neighbour, and the path beside NVLink still counts, because NVSwitch hides where the CPUs,
// the memory and the network cards are.
const (
	worthSystem   = 1
	worthNode     = 2
	worthHost     = 3
	worthSwitches = 4
	worthSwitch   = 5
	worthLane     = 10 // for each NVLink lane, beside the path
)

// wiring holds what each pair of some devices is worth, by position. It is symmetric and its diagonal is zero.
type wiring struct {
	size   int
	worth  []int32 // size x size
	degree []int32 // what each device is worth to all the others together
}

func newWiring(size int) wiring {
	return wiring{size: size, worth: make([]int32, size*size), degree: make([]int32, size)}
}

func wire(devices []*Device) wiring {
	w := newWiring(len(devices))
	position := make(map[string]int, len(devices))
	for i, d := range devices {
		position[d.UUID] = i
	}
	for i, d := range devices {
		for _, link := range d.Links {
			// A source may report a link on one side only; it holds for both.
			if j, ok := position[link.Peer]; ok && i != j {
				value := max(pairWorth(d, devices[j], link), w.row(i)[j])
				w.row(i)[j], w.row(j)[i] = value, value
			}
		}
	}
	w.addDegrees()
	return w
}

func (w wiring) addDegrees() {
	for i := range w.size {
		for _, value := range w.row(i) {
			w.degree[i] += value
		}
	}
}

func pairWorth(a, b *Device, link Link) int32 {
	switch link.Kind {
	case LinkNVLink:
		path := int32(worthSystem) // which one it is nobody told; at the least it is this
		if a.NUMANode == b.NUMANode && a.NUMANode >= 0 {
			path = worthNode
		}
		return int32(link.Lanes)*worthLane + path
	case LinkSwitch:
		return worthSwitch
	case LinkSwitches:
		return worthSwitches
	case LinkHost:
		return worthHost
	case LinkNode:
		return worthNode
	case LinkSystem:
		return worthSystem
	}
	return 0
}

// row is what device i is worth to each of the others.
func (w wiring) row(i int) []int32 { return w.worth[i*w.size : (i+1)*w.size] }

// part is the wiring among the devices of a set, and where each of its positions is in the whole.
func (w wiring) part(set Set) (wiring, []int) {
	at := slices.Collect(set.positions())
	part := newWiring(len(at))
	for i, from := range at {
		for j, to := range at {
			part.row(i)[j] = w.row(from)[to]
		}
	}
	part.addDegrees()
	return part, at
}

// key is equal for equal wirings only.
func (w wiring) key() string {
	key := binary.AppendUvarint(nil, uint64(w.size))
	for i := range w.size {
		for _, value := range w.row(i)[i:] {
			key = binary.AppendUvarint(key, uint64(value))
		}
	}
	return string(key)
}
