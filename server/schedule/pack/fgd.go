package pack

import "math"

// fgd is fragmentation gradient descent ("Beware of Fragmentation", USENIX ATC '23): a task goes where it adds least GPU
// capacity that the common shapes cannot use.
type fgd struct {
	shapes  []commonShape
	byModel map[string]*fragmentation
}

func newFGD(tasks []Shape) *fgd {
	return &fgd{commonShapes(tasks), map[string]*fragmentation{}}
}

func (f *fgd) of(model string) *fragmentation {
	known := f.byModel[model]
	if known == nil {
		known = &fragmentation{newDemandParts(f.shapes, model), memo{}}
		f.byModel[model] = known
	}
	return known
}

// Score implements Policy.
func (f *fgd) Score(h *Host, s *Shape) float64 {
	score, _ := f.best(h, s)
	return score
}

// GPU implements Policy.
func (f *fgd) GPU(h *Host, s *Shape) int {
	_, gpu := f.best(h, s)
	return gpu
}

func (f *fgd) best(h *Host, s *Shape) (score float64, gpu int) {
	fragments := f.of(h.Model)
	before := fragments.of(h.CPU, h.Free)
	return bestWhatIf(h, s, func(free []int) float64 {
		return gradient(before - fragments.of(h.CPU-s.CPU, free))
	})
}

// gradient maps a decrease of fragmentation to a score from 0 to 100, truncated to an integer. Truncation is part of the
// policy: it makes most hosts equal, so hosts in front fill up first.
func gradient(shrinks float64) float64 {
	return float64(int64(1 / (1 + math.Exp(-shrinks/Whole)) * maxScore))
}
