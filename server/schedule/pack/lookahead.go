package pack

// lookahead is Pinion's own policy. Like fgd it puts a task where it adds least unusable GPU capacity, with three differences:
//
//   - A GPU is usable by a common shape now, when one task of it fits, and later, while the host has CPU for more: see
//     usableCapacity. The second part keeps CPU and GPUs of a host in proportion; fgd notices a lack of CPU only when it has
//     happened.
//   - Scores are not truncated. Instead, among nearly equal hosts the one with the least free GPU capacity wins, so that
//     whole hosts stay free for the tasks that need them.
//   - The common shapes are learnt from the tasks that have arrived, and small shapes have more weight: see shapeStats.
type lookahead struct {
	shapeStats
	common  []commonShape // from the last count
	byModel map[string]*usableCapacity
}

// idlePenalty is the cost of each GPU that stays free on the host, in thousandths of a GPU.
const idlePenalty = 5

func newLookahead() *lookahead { return &lookahead{byModel: map[string]*usableCapacity{}} }

func (f *lookahead) observe(s *Shape) bool {
	if !f.shapeStats.observe(*s) {
		return false
	}
	f.common = f.shapes()
	clear(f.byModel)
	return true
}

func (f *lookahead) of(model string) *usableCapacity {
	known := f.byModel[model]
	if known == nil {
		known = &usableCapacity{newDemandParts(f.common, model), memo{}}
		f.byModel[model] = known
	}
	return known
}

// Score implements Policy.
func (f *lookahead) Score(h *Host, s *Shape) float64 {
	score, _ := f.best(h, s)
	return score
}

// GPU implements Policy.
func (f *lookahead) GPU(h *Host, s *Shape) int {
	_, gpu := f.best(h, s)
	return gpu
}

func (f *lookahead) best(h *Host, s *Shape) (score float64, gpu int) {
	prospects := f.of(h.Model)
	before := prospects.useless(h.CPU, h.Free)
	return bestWhatIf(h, s, func(free []int) float64 {
		shrinks := before - prospects.useless(h.CPU-s.CPU, free)
		return shrinks - idlePenalty*float64(sum(free))/Whole
	})
}
