package pack

import "slices"

// shapeStats counts the shapes of the tasks that have arrived, because the workload is not known in advance.
type shapeStats struct {
	counts map[Shape]int
	tasks  int // number of GPU tasks that have arrived
	next   int // number of arrivals at the next recount
}

// firstRecount is the number of tasks after which the common shapes are counted for the first time.
const firstRecount = 8

// observe counts a task. It returns true when the common shapes are due for a recount: after half as many tasks again as at
// the last one, so that the amortized cost is negligible.
func (p *shapeStats) observe(s Shape) bool {
	if s.GPUs == 0 {
		return false
	}
	p.add(s, 1)
	if p.next == 0 {
		p.next = firstRecount
	}
	if p.tasks < p.next {
		return false
	}
	p.next += p.next / 2
	return true
}

// add adds to the number of tasks of a shape.
func (p *shapeStats) add(s Shape, tasks int) {
	if p.counts == nil {
		p.counts = map[Shape]int{}
	}
	s.MemoryMiB = 0
	p.counts[s] += tasks
	p.tasks += tasks
}

// shapes returns the common shapes so far. A small shape has more weight, by the number of its tasks that fit on one GPU: as
// a pool fills up, large tasks are the first that do not fit, and small ones fill the rest.
func (p *shapeStats) shapes() []commonShape {
	all := make([]commonShape, 0, len(p.counts))
	for s, n := range p.counts {
		all = append(all, commonShape{s, float64(n) * Whole / float64(s.GPUMilli())})
	}
	slices.SortFunc(all, byCount)
	weight := 0.0
	for _, s := range all { // sorted: a floating-point sum depends on the order
		weight += s.share
	}
	return normalizeMostCommon(all, weight)
}
