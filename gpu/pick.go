package gpu

import "slices"

// Pick chooses n of the free devices for one container and returns their UUIDs ordered by device index. Only healthy
// devices are chosen; unknown and repeated names in free are ignored. It returns nil when n is not positive or when fewer
// than n devices remain. It is deterministic: the result does not depend on the order of devices and free.
//
// The best set has the highest sum of link scores (NVLink by lanes, then PIX, PXB, PHB, NODE, SYS). Ties go to the set that
// leaves the remaining devices the highest sum, then to the lowest indices. Up to 16 candidates the search is exhaustive.
// Above that it is greedy: a set is grown from each candidate by the device that adds the most, and the best of these sets
// and of the first n devices is returned.
//
// Callers with many requests make a Topology of the host once: it gives the same results and caches them.
func Pick(devices []Device, free []string, n int) []string {
	candidates := slices.DeleteFunc(ordered(devices, MaxDevices), func(d *Device) bool {
		return d.Health != Healthy || !slices.Contains(free, d.UUID)
	})
	if n <= 0 || n > len(candidates) {
		return nil
	}
	var chosen []string
	for i := range bestSet(scoreLinks(candidates), n).positions() {
		chosen = append(chosen, candidates[i].UUID)
	}
	return chosen
}
