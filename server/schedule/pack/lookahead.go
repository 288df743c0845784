package pack

// lookahead is Pinion's own policy. Like fgd it puts a task where the GPUs that are of no use grow least; it differs in
// what it counts and in what it knows.
//
//   - A GPU is of use to a popular shape now, when one such task fits, and later, as long as the CPU beside it lasts: see
//     prospects. The second is what keeps CPU and GPUs of a host in step; fgd sees that a host runs out of CPU only when it
//     has happened.
//   - Nothing is cut off. Among hosts that are nearly equal the one with the least GPU left wins instead, so that whole
//     hosts stay free for the tasks that need them.
//   - What is popular is learnt from the tasks that have arrived, and small shapes count for more: see popularity.
type lookahead struct {
	shapeStats
	common  []commonShape // as they were last counted
	byModel map[string]*usability
}

// idlePenalty is what a GPU that stays free on the host costs, in thousandths of a GPU.
const idlePenalty = 5

func newLookahead() *lookahead { return &lookahead{byModel: map[string]*usability{}} }

func (f *lookahead) observe(s *Shape) bool {
	if !f.shapeStats.observe(*s) {
		return false
	}
	f.common = f.shapes()
	clear(f.byModel)
	return true
}

func (f *lookahead) of(model string) *usability {
	known := f.byModel[model]
	if known == nil {
		known = &usability{newDemandParts(f.common, model), memo{}}
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
