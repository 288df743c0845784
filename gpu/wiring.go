package gpu

// How much one pair of devices is worth to a container that holds both. The ladder follows the bandwidth of the links;
// one NVLink lane is worth more than the nearest PCIe neighbour, so that a set is never torn from its NVLinks to please PCIe.
const (
	worthSystem   = 1
	worthNode     = 2
	worthHost     = 3
	worthSwitch   = 5
	worthLane     = 10 // for each NVLink lane
	worthSameNUMA = 1  // beside NVLink, which hides where the CPUs, the memory and the network cards are
)

// wiring holds what each pair of some devices is worth, by position. It is symmetric and its diagonal is zero.
type wiring struct {
	size   int
	worth  []int32 // size x size
	degree []int32 // what each device is worth to all the others together
}

func wire(devices []*Device) wiring {
	w := wiring{size: len(devices), worth: make([]int32, len(devices)*len(devices)), degree: make([]int32, len(devices))}
	position := make(map[string]int, len(devices))
	for i, d := range devices {
		position[d.UUID] = i
	}
	for i, d := range devices {
		for _, link := range d.Links {
			// A source may report a link on one side only; it holds for both.
			if j, ok := position[link.Peer]; ok && i != j {
				value := max(pairWorth(d, devices[j], link), w.worth[i*w.size+j])
				w.worth[i*w.size+j], w.worth[j*w.size+i] = value, value
			}
		}
	}
	for i := range devices {
		for _, value := range w.row(i) {
			w.degree[i] += value
		}
	}
	return w
}

func pairWorth(a, b *Device, link Link) int32 {
	switch link.Kind {
	case LinkNVLink:
		value := int32(link.Lanes) * worthLane
		if a.NUMANode == b.NUMANode && a.NUMANode >= 0 {
			value += worthSameNUMA
		}
		return value
	case LinkSwitch:
		return worthSwitch
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
