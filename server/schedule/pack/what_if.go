package pack

import (
	"math"
	"slices"
)

// bestWhatIf tries the shape on each GPU of a host on which it fits, and returns the highest value of the resulting free
// capacity and, for a share, the first GPU with that value. Whole GPUs are interchangeable.
func bestWhatIf(h *Host, s *Shape, value func(free []int) float64) (score float64, gpu int) {
	var after [MostGPUs]int
	free := after[:copy(after[:], h.Free)]
	if !s.Shares() {
		takeWholeGPUs(free, s.GPUs)
		return value(free), 0
	}
	score, gpu = math.Inf(-1), -1
	for i := range free {
		if free[i] < s.Milli || slices.Contains(h.Free[:i], free[i]) {
			continue // too small, or equal to an earlier one
		}
		free[i] -= s.Milli
		if v := value(free); v > score {
			score, gpu = v, i
		}
		free[i] += s.Milli
	}
	return score, gpu
}

// takeWholeGPUs takes the first whole GPUs.
func takeWholeGPUs(free []int, gpus int) {
	for i := range free {
		if gpus > 0 && free[i] == Whole {
			free[i] = 0
			gpus--
		}
	}
}
