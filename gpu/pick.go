package gpu

import "slices"

// Pick chooses n of the free devices for one container and returns their UUIDs ordered by device index. Only healthy
// devices are chosen; names in free that are no device, or named twice, do not count. It returns nil when n is not
// positive or when fewer than n remain. It is deterministic: the same devices and free set give the same answer, in
// whatever order they come.
//
// The best set is the one whose pairs are wired best (NVLink by lanes, then PIX, PXB, PHB, NODE, SYS). Among equals it is
// the one that leaves the rest wired best, and among those the one with the lowest indices. With up to 16 candidates
// the answer is exact. With more it is greedy: from every candidate a set is grown by the device that adds most, and the
// best of these and of the first n is taken.
//
// Who asks again and again makes a Board of the host once: it gives the same answers and remembers them.
func Pick(devices []Device, free []string, n int) []string {
	candidates := slices.DeleteFunc(ordered(devices, maxDevices), func(d *Device) bool {
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
