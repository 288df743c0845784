package pack

// FragmentationScorer is the default policy for hosts that allocate whole GPUs: it scores as lookahead does, without the
// cached states that lookahead needs for parts of GPUs. It is immutable.
type FragmentationScorer struct{ shapes []commonShape }

// NewFragmentationScorer derives the common shapes from the number of tasks of each shape. It ignores shapes without GPUs,
// shapes with a part of a GPU, and memory.
func NewFragmentationScorer(counts map[Shape]int) *FragmentationScorer {
	var p shapeStats
	for s, n := range counts {
		if s.Milli == Whole {
			p.add(s, n)
		}
	}
	return &FragmentationScorer{p.shapes()}
}

// Score scores a host with this free CPU and this number of free GPUs, on which the shape must fit, in thousandths of a GPU.
// The highest score is the best.
func (o *FragmentationScorer) Score(cpu int64, gpus int, s Shape) float64 {
	left := gpus - s.GPUs
	return o.useless(cpu, gpus) - o.useless(cpu-s.CPU, left) - idlePenalty*float64(left)
}

// useless is usableCapacity.measure for GPUs that are either free or in use.
func (o *FragmentationScorer) useless(cpu int64, gpus int) float64 {
	if gpus == 0 {
		return 0
	}
	idle, useful := float64(gpus*Whole), 0.0
	for i := range o.shapes {
		s := &o.shapes[i]
		if gpus < s.GPUs {
			continue
		}
		now, later := 0.0, float64(gpus/s.GPUs*s.GPUMilli())
		if cpu >= s.CPU {
			now = idle
		}
		if s.CPU > 0 {
			later = min(later, float64(cpu)*float64(s.GPUMilli())/float64(s.CPU))
		}
		useful += s.share * (nowWeight*now + (1-nowWeight)*later)
	}
	return idle - useful
}
