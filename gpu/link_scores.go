package gpu

import (
	"encoding/binary"
	"slices"
)

// The scores of the links between two devices of one container. They follow the bandwidth of the links in the proportions
// of NVIDIA's go-gpuallocator, so a set with the best score here has the best score there. One NVLink lane scores more than
// the nearest PCIe link. The PCIe path between two devices with NVLink is counted too, because NVSwitch does not show where
// the CPUs, the memory and the network cards are.
const (
	scoreSystem   = 1
	scoreNode     = 2
	scoreHost     = 3
	scoreSwitches = 4
	scoreSwitch   = 5
	scoreLane     = 10 // for each NVLink lane, added to the score of the PCIe path
)

// linkScores is the matrix of link scores of a set of devices, by position. It is symmetric and its diagonal is zero.
type linkScores struct {
	size   int
	scores []int32 // size x size
	totals []int32 // sum of each device's row
}

func newLinkScores(size int) linkScores {
	return linkScores{size: size, scores: make([]int32, size*size), totals: make([]int32, size)}
}

func scoreLinks(devices []*Device) linkScores {
	w := newLinkScores(len(devices))
	position := make(map[string]int, len(devices))
	for i, d := range devices {
		position[string(appendPeer(nil, d.UUID))] = i
	}
	for i, d := range devices {
		for peer, link := range d.Links.packed() {
			// A source may report a link in one direction only; the score applies to both.
			if j, ok := position[peer]; ok && i != j {
				value := max(pairScore(d, devices[j], link), w.row(i)[j])
				w.row(i)[j], w.row(j)[i] = value, value
			}
		}
	}
	w.addTotals()
	return w
}

func (w linkScores) addTotals() {
	for i := range w.size {
		for _, value := range w.row(i) {
			w.totals[i] += value
		}
	}
}

func pairScore(a, b *Device, link Link) int32 {
	switch link.Kind {
	case LinkNVLink:
		path := int32(scoreSystem) // the path is unknown; SYS is the lower bound
		if a.NUMANode == b.NUMANode && a.NUMANode >= 0 {
			path = scoreNode
		}
		return int32(link.Lanes)*scoreLane + path
	case LinkSwitch:
		return scoreSwitch
	case LinkSwitches:
		return scoreSwitches
	case LinkHost:
		return scoreHost
	case LinkNode:
		return scoreNode
	case LinkSystem:
		return scoreSystem
	}
	return 0
}

// row returns the scores of device i with each device.
func (w linkScores) row(i int) []int32 { return w.scores[i*w.size : (i+1)*w.size] }

// subset returns the link scores among the devices of a set, and the index of each of them in the whole.
func (w linkScores) subset(set DeviceSet) (linkScores, []int) {
	at := slices.Collect(set.positions())
	part := newLinkScores(len(at))
	for i, from := range at {
		for j, to := range at {
			part.row(i)[j] = w.row(from)[to]
		}
	}
	part.addTotals()
	return part, at
}

// key returns a string that is equal only for equal matrices.
func (w linkScores) key() string {
	key := binary.AppendUvarint(nil, uint64(w.size))
	for i := range w.size {
		for _, value := range w.row(i)[i:] {
			key = binary.AppendUvarint(key, uint64(value))
		}
	}
	return string(key)
}
