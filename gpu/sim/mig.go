package sim

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pinion/gpu"
)

// migProfile is a profile of MIG devices. A GPU has 7 slices of multiprocessors and 8 of memory, which the driver numbers.
type migProfile struct {
	name    string
	compute int   // slices of multiprocessors
	memory  int   // slices of memory
	starts  []int // slices of memory at which the driver places it
}

const (
	computeSlices = 7
	memorySlices  = 8
)

// migProfiles are the profiles of a model, largest first; nil: it has no MIG. The sizes are those in NVIDIA's names: of one slice of memory, two,
// four and all.
func migProfiles(sizes [4]int) []migProfile {
	if sizes[0] == 0 {
		return nil
	}
	return []migProfile{
		{fmt.Sprintf("7g.%dgb", sizes[3]), 7, 8, []int{0}},
		{fmt.Sprintf("4g.%dgb", sizes[2]), 4, 4, []int{0}},
		{fmt.Sprintf("3g.%dgb", sizes[2]), 3, 4, []int{0, 4}},
		{fmt.Sprintf("2g.%dgb", sizes[1]), 2, 2, []int{0, 2, 4}},
		{fmt.Sprintf("1g.%dgb", sizes[1]), 1, 2, []int{0, 2, 4, 6}},
		{fmt.Sprintf("1g.%dgb", sizes[0]), 1, 1, []int{0, 1, 2, 3, 4, 5, 6}},
	}
}

// parsePartition reads "1x3g.40gb/4x1g.10gb": the MIG devices of each GPU of a model.
func parsePartition(text string, m model) (partition []migProfile, err error) {
	known := migProfiles(m.mig)
	if known == nil {
		return nil, fmt.Errorf("%s has no MIG", m.key)
	}
	for part := range strings.SplitSeq(text, "/") {
		number, name, _ := strings.Cut(part, "x")
		count, err := strconv.Atoi(number)
		at := slices.IndexFunc(known, func(p migProfile) bool { return p.name == name })
		if err != nil || count < 1 || count > computeSlices || at < 0 {
			return nil, fmt.Errorf("%q is not like 7x%s, with one of the profiles of %s: %s", part, known[len(known)-1].name, m.key, profileNames(known))
		}
		partition = append(partition, slices.Repeat(known[at:at+1], count)...)
	}
	slices.SortStableFunc(partition, func(a, b migProfile) int {
		return b.memory*memorySlices + b.compute - a.memory*memorySlices - a.compute
	})
	compute := 0
	for _, p := range partition {
		compute += p.compute
	}
	if compute > computeSlices || !fits(partition, 0) {
		return nil, fmt.Errorf("the driver finds no place for all of %s on one %s, which has %d slices of multiprocessors and %d of memory", text, m.key, computeSlices, memorySlices)
	}
	return partition, nil
}

// fits reports whether the driver has places for the MIG devices beside the slices of memory that are used.
func fits(partition []migProfile, used uint8) bool {
	if len(partition) == 0 {
		return true
	}
	for _, start := range partition[0].starts {
		own := uint8((1<<partition[0].memory - 1) << start)
		if used&own == 0 && fits(partition[1:], used|own) {
			return true
		}
	}
	return false
}

func profileNames(profiles []migProfile) string {
	var names []string
	for _, p := range profiles {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// partitioned are the MIG devices of a GPU. Each has its part of the memory; of a real GPU it is some percent less.
func partitioned(card *gpu.Device, partition []migProfile) (devices []gpu.Device) {
	for i, p := range partition {
		d := *card
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", card.UUID, p.name, i))
		d.UUID = fmt.Sprintf("MIG-%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
		d.MIGDevice = &gpu.MIGDevice{Parent: card.UUID, ParentMemoryMiB: card.MemoryMiB, Index: i, Profile: p.name}
		d.MemoryMiB, d.Links = card.MemoryMiB*int64(p.memory)/memorySlices, ""
		devices = append(devices, d)
	}
	return devices
}
