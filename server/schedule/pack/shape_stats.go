package pack

import "slices"

// shapeStats is learnt from the tasks that arrive, one after the other: nobody knows the workload in advance.
type shapeStats struct {
	counts map[Shape]int
	tasks  int // with GPUs, that have arrived
	next   int // arrivals at which the shapes are counted anew
}

// firstRecount is after how many tasks there is a first idea of what is popular.
const firstRecount = 8

// observe notes a task. It reports true when enough have come since the shapes were last counted to count them anew:
// half as many again, so that counting costs next to nothing in the long run.
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

// add counts so many tasks of a shape.
func (p *shapeStats) add(s Shape, tasks int) {
	if p.counts == nil {
		p.counts = map[Shape]int{}
	}
	s.MemoryMiB = 0
	p.counts[s] += tasks
	p.tasks += tasks
}

// shapes are the popular shapes so far. A shape counts for more the smaller it is, by how many of it a GPU can hold: as a
// pool fills up the large tasks are the first that find no place, and the small ones fill what is left.
func (p *shapeStats) shapes() []commonShape {
	all := make([]commonShape, 0, len(p.counts))
	for s, n := range p.counts {
		all = append(all, commonShape{s, float64(n) * Whole / float64(s.GPUMilli())})
	}
	slices.SortFunc(all, byCount)
	weight := 0.0
	for _, s := range all { // sorted: the sum of the same numbers in another order can be another
		weight += s.share
	}
	return normalizeMostCommon(all, weight)
}
