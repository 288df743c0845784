package pack

// FragmentationScorer is the default policy for hosts whose GPUs are given out whole: what foresight says of them, without the states
// that it has to remember for parts of GPUs. It never changes.
type FragmentationScorer struct{ shapes []commonShape }

// NewFragmentationScorer takes what is popular from how often each shape is asked for. Shapes without GPUs and those that ask for
// parts of one do not count, nor does memory.
func NewFragmentationScorer(counts map[Shape]int) *FragmentationScorer {
	var p shapeStats
	for s, n := range counts {
		if s.Milli == Whole {
			p.add(s, n)
		}
	}
	return &FragmentationScorer{p.shapes()}
}

// Score values a host that has so much CPU and so many whole GPUs free, and on which the shape fits: the highest is the
// best. The unit is a thousandth of a GPU.
func (o *FragmentationScorer) Score(cpu int64, gpus int, s Shape) float64 {
	left := gpus - s.GPUs
	return o.useless(cpu, gpus) - o.useless(cpu-s.CPU, left) - idlePenalty*float64(left)
}

// useless is prospects.measure where each GPU is free or is not.
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
