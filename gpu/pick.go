package gpu

import (
	"math/bits"
	"slices"
)

// exactLimit is the number of candidates up to which every set is weighed; C(16,8) is 12,870 sets.
const exactLimit = 16

// Pick chooses n of the free devices for one container and returns their UUIDs ordered by device index. Only healthy
// devices are chosen; names in free that are no device, or named twice, do not count. It returns nil when n is not
// positive or when fewer than n remain. It is deterministic: the same devices and free set give the same answer, in
// whatever order they come.
//
// The best set is the one whose pairs are wired best (NVLink by lanes, then PIX, PHB, NODE, SYS). Among equals it is the
// one that leaves the rest wired best, and among those the one with the lowest indices. With up to 16 candidates
// the answer is exact. With more it is greedy: from every candidate a set is grown by the device that adds most, and the
// best of these and of the first n is taken.
func Pick(devices []Device, free []string, n int) []string {
	candidates := usable(devices, among(free))
	if n <= 0 || n > len(candidates) {
		return nil
	}
	if n == len(candidates) {
		return uuids(candidates)
	}
	w := wire(candidates)
	var positions []int
	if len(candidates) <= exactLimit {
		positions = exact(w, n)
	} else {
		positions = greedy(w, n)
	}
	chosen := make([]string, n)
	for i, p := range positions {
		chosen[i] = candidates[p].UUID
	}
	return chosen
}

func among(free []string) func(string) bool {
	set := make(map[string]bool, len(free))
	for _, uuid := range free {
		set[uuid] = true
	}
	return func(uuid string) bool { return set[uuid] }
}

// value weighs a set. Taking a set away costs the rest all its degrees less its inside, which counts pairs twice: of
// sets with the same inside, the one with the least degrees leaves the rest wired best.
type value struct{ inside, degrees int32 }

func (v value) better(than value) bool {
	if v.inside != than.inside {
		return v.inside > than.inside
	}
	return v.degrees < than.degrees
}

// search walks the sets of n positions in the order of their indices, so that the first best set is the lowest.
type search struct {
	w        wiring
	best     value
	bestMask uint32
}

func exact(w wiring, n int) []int {
	s := search{w: w, best: value{inside: -1}}
	s.extend(0, n, 0, value{}, [exactLimit]int32{})
	return positions(s.bestMask)
}

// extend tries every way to add `missing` positions, from `from` up, to the set in mask. gain is what each position is
// worth to that set.
func (s *search) extend(from, missing int, mask uint32, v value, gain [exactLimit]int32) {
	for i := from; i <= s.w.size-missing; i++ {
		next := value{v.inside + gain[i], v.degrees + s.w.degree[i]}
		if missing == 1 {
			if next.better(s.best) {
				s.best, s.bestMask = next, mask|1<<i
			}
			continue
		}
		grown := gain
		for j, worth := range s.w.row(i)[i+1:] {
			grown[i+1+j] += worth
		}
		s.extend(i+1, missing-1, mask|1<<i, next, grown)
	}
}

func positions(mask uint32) []int {
	var set []int
	for ; mask != 0; mask &= mask - 1 {
		set = append(set, bits.TrailingZeros32(mask))
	}
	return set
}

func greedy(w wiring, n int) []int {
	best := make([]int, n)
	for i := range best {
		best[i] = i
	}
	bestValue := weigh(w, best)
	for seed := range w.size {
		set := grow(w, seed, n)
		if v := weigh(w, set); v.better(bestValue) {
			best, bestValue = set, v
		}
	}
	return best
}

// grow adds to the seed, one by one, the position that is worth most to the set; among equals the one that the rest
// misses least, then the lowest.
func grow(w wiring, seed, n int) []int {
	gain := slices.Clone(w.row(seed))
	set := []int{seed}
	for len(set) < n {
		next, nextValue := -1, value{}
		for i := range w.size {
			v := value{gain[i], w.degree[i]}
			if !slices.Contains(set, i) && (next < 0 || v.better(nextValue)) {
				next, nextValue = i, v
			}
		}
		set = append(set, next)
		for i, worth := range w.row(next) {
			gain[i] += worth
		}
	}
	slices.Sort(set)
	return set
}

func weigh(w wiring, set []int) value {
	var v value
	for at, i := range set {
		v.degrees += w.degree[i]
		for _, j := range set[at+1:] {
			v.inside += w.row(i)[j]
		}
	}
	return v
}
