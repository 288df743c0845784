package gpu

import "slices"

// exactLimit is the largest number of candidates that is searched exhaustively; C(16,8) is 12,870 sets.
const exactLimit = 16

// bestSet returns the best n devices; n is positive and at most the number of devices.
func bestSet(w linkScores, n int) DeviceSet {
	switch {
	case n == w.size || !slices.ContainsFunc(w.totals, func(total int32) bool { return total != 0 }): // MIG devices have no links
		return DeviceSet(1<<n - 1)
	case w.size <= exactLimit:
		return exact(w, n)
	}
	return greedy(w, n)
}

// setScore scores a set. Removing a set costs the rest the sum of the set's degrees minus its inner sum, which counts each
// pair twice: of sets with the same inner sum, the one with the smallest degrees leaves the highest sum to the rest.
type setScore struct{ inside, totals int32 }

func (v setScore) better(than setScore) bool {
	if v.inside != than.inside {
		return v.inside > than.inside
	}
	return v.totals < than.totals
}

// search enumerates the sets of n positions in ascending order, so the first best set has the lowest indices.
type search struct {
	w     linkScores
	best  DeviceSet
	score setScore
}

func exact(w linkScores, n int) DeviceSet {
	s := search{w: w, score: setScore{inside: -1}}
	s.extend(0, n, 0, setScore{}, [exactLimit]int32{})
	return s.best
}

// extend tries every way to add `missing` positions, starting at `from`, to the set. gain is the score that each position
// would add.
func (s *search) extend(from, missing int, set DeviceSet, v setScore, gain [exactLimit]int32) {
	for i := from; i <= s.w.size-missing; i++ {
		next := setScore{v.inside + gain[i], v.totals + s.w.totals[i]}
		if missing == 1 {
			if next.better(s.score) {
				s.best, s.score = set|1<<i, next
			}
			continue
		}
		grown := gain
		for j, worth := range s.w.row(i)[i+1:] {
			grown[i+1+j] += worth
		}
		s.extend(i+1, missing-1, set|1<<i, next, grown)
	}
}

func greedy(w linkScores, n int) DeviceSet {
	best := DeviceSet(1<<n - 1)
	most := scoreSet(w, best)
	for seed := range w.size {
		set := grow(w, seed, n)
		if v := scoreSet(w, set); v.better(most) {
			best, most = set, v
		}
	}
	return best
}

// grow adds to the seed, one by one, the position with the highest gain. Ties go to the position with the smallest degree,
// then to the lowest.
func grow(w linkScores, seed, n int) DeviceSet {
	gain := slices.Clone(w.row(seed))
	set := DeviceSet(1 << seed)
	for set.Len() < n {
		next, most := -1, setScore{}
		for i := range w.size {
			v := setScore{gain[i], w.totals[i]}
			if set&(1<<i) == 0 && (next < 0 || v.better(most)) {
				next, most = i, v
			}
		}
		set |= 1 << next
		for i, worth := range w.row(next) {
			gain[i] += worth
		}
	}
	return set
}

func scoreSet(w linkScores, set DeviceSet) setScore {
	var v setScore
	for i := range set.positions() {
		v.totals += w.totals[i]
		for j := range (set >> i).positions() {
			v.inside += w.row(i)[i+j] // the diagonal is zero
		}
	}
	return v
}
