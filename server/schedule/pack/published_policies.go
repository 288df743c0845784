package pack

// The baseline policies of the paper, as in its artifact: scores are truncated to integers from 0 to 100, so many hosts are
// equal and the first of them wins.

const (
	maxScore = 100 // the highest score

	// The largest host there can be, by which free resources are made comparable.
	largestCPU = 128_000
	largestGPU = 8 * Whole
)

// tightest chooses the GPU with the least free capacity among those on which the shape fits.
type tightest struct{}

// GPU implements Policy.
func (tightest) GPU(h *Host, s *Shape) int {
	best := -1
	for i, free := range h.Free {
		if free >= s.Milli && (best < 0 || free < h.Free[best]) {
			best = i
		}
	}
	return best
}

// random draws a host, and the GPU for a share.
type random struct{ draw func(n int) int }

// Score implements Policy.
func (random) Score(*Host, *Shape) float64 { return 0 }

// GPU implements Policy.
func (r random) GPU(h *Host, s *Shape) int {
	chosen, seen := -1, 0
	for i, free := range h.Free {
		if free >= s.Milli {
			if seen++; r.draw(seen) == 0 {
				chosen = i
			}
		}
	}
	return chosen
}

func (r random) choose(fitting int) int { return r.draw(fitting) }

// dotprod prefers the host with the smallest dot product of free resources and demand (after Tetris, SIGCOMM '14, with the
// artifact's sign).
type dotprod struct{ tightest }

// Score implements Policy.
func (dotprod) Score(h *Host, s *Shape) float64 {
	cpu := float64(h.CPU) / largestCPU * (float64(s.CPU) / largestCPU)
	gpu := float64(h.Idle()) / largestGPU * (float64(s.GPUMilli()) / largestGPU)
	return float64(int64(maxScore * (1 - (cpu+gpu)/2)))
}

// clustering groups tasks of one kind on a host (after Gandiva, OSDI '18): a share, one GPU, two GPUs.
type clustering struct{ tightest }

// Score implements Policy.
func (clustering) Score(h *Host, s *Shape) float64 {
	if s.GPUs == 0 {
		return 0
	}
	present := 0
	for _, n := range h.tasks {
		if n > 0 {
			present++
		}
	}
	score := maxScore / 4 * (largestGPU - h.Idle()) / largestGPU
	switch same := h.tasks[kind(s)] > 0; {
	case same && present == 1:
		score += maxScore * 3 / 4
	case same:
		score += maxScore * 2 / 4
	case present == 0:
		score += maxScore / 4
	}
	return float64(score)
}

// packing fills GPUs in use, then hosts in use, then small hosts (after "GPU packing" of MLaaS, NSDI '22).
type packing struct{ tightest }

// Score implements Policy.
func (packing) Score(h *Host, s *Shape) float64 {
	if s.GPUs == 0 {
		return 0
	}
	idle := h.with(Whole)
	if idle == len(h.Free) {
		return float64(max(maxScore/3-idle, idle))
	}
	if s.Shares() {
		if left := h.Free[packing{}.GPU(h, s)]; left < Whole {
			return float64(max(maxScore-left*100/Whole/10, maxScore/2))
		}
	}
	return float64(max(maxScore/2-s.GPUs, maxScore/3))
}

// bestfit prefers the host with the least free resources after placement.
type bestfit struct{ tightest }

// Score implements Policy.
func (bestfit) Score(h *Host, s *Shape) float64 {
	left := float64(h.CPU-s.CPU) / largestCPU * 0.5
	left += float64(h.Idle()-s.GPUMilli()) / largestGPU * 0.5
	return float64(int64((1 - left) * maxScore))
}
