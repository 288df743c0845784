package pack

// foresight is Pinion's own policy. Like fgd it puts a task where the GPUs that are of no use grow least; it differs in
// what it counts and in what it knows.
//
//   - A GPU is of use to a popular shape now, when one such task fits, and later, as long as the CPU beside it lasts: see
//     prospects. The second is what keeps CPU and GPUs of a host in step; fgd sees that a host runs out of CPU only when it
//     has happened.
//   - Nothing is cut off. Among hosts that are nearly equal the one with the least GPU left wins instead, so that whole
//     hosts stay free for the tasks that need them.
//   - What is popular is learnt from the tasks that have arrived, and small shapes count for more: see popularity.
type foresight struct {
	popularity
	popular []popular // as they were last counted
	byModel map[string]*prospects
}

// tidy is what a GPU that stays free on the host costs, in thousandths of a GPU.
const tidy = 5

func newForesight() *foresight { return &foresight{byModel: map[string]*prospects{}} }

func (f *foresight) arrived(s *Shape) bool {
	if !f.popularity.arrived(*s) {
		return false
	}
	f.popular = f.shapes()
	clear(f.byModel)
	return true
}

func (f *foresight) of(model string) *prospects {
	known := f.byModel[model]
	if known == nil {
		known = &prospects{newParts(f.popular, model), measured{}}
		f.byModel[model] = known
	}
	return known
}

// Score implements Policy.
func (f *foresight) Score(h *Host, s *Shape) float64 {
	score, _ := f.best(h, s)
	return score
}

// GPU implements Policy.
func (f *foresight) GPU(h *Host, s *Shape) int {
	_, gpu := f.best(h, s)
	return gpu
}

func (f *foresight) best(h *Host, s *Shape) (score float64, gpu int) {
	prospects := f.of(h.Model)
	before := prospects.useless(h.CPU, h.Free)
	return bestGPU(h, s, func(free []int) float64 {
		shrinks := before - prospects.useless(h.CPU-s.CPU, free)
		return shrinks - tidy*float64(sum(free))/Whole
	})
}
